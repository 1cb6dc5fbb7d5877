# The benchmark's programs; tests/bench/run.sh builds and runs them. They assert nothing and are no tests.
set(hf_bench_dir ${CMAKE_CURRENT_LIST_DIR})

add_executable(bench_engine ${hf_bench_dir}/engine.c)
target_link_libraries(bench_engine PRIVATE hf_engine hf_store hf_base)
add_executable(bench_methods ${hf_bench_dir}/methods.c)
target_link_libraries(bench_methods PRIVATE holdfast_engine)
add_library(hf_load STATIC ${hf_bench_dir}/load.c)
target_link_libraries(hf_load PUBLIC hf_base Threads::Threads)
foreach(load sipload rdpload floor)
  add_executable(bench_${load} ${hf_bench_dir}/${load}.c)
  target_link_libraries(bench_${load} PRIVATE hf_load)
endforeach()
set_target_properties(bench_engine bench_methods bench_sipload bench_rdpload bench_floor PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

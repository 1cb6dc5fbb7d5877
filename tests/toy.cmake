# A second gateway with a third protocol in it (tests/front_toy), for scenarios; and the unit tests of that protocol's step.
set(hf_toy_dir ${CMAKE_CURRENT_LIST_DIR}/front_toy)

add_library(hf_toy STATIC ${hf_toy_dir}/toy.c)
target_include_directories(hf_toy PUBLIC ${hf_toy_dir})
target_link_libraries(hf_toy PUBLIC hf_base)

add_executable(holdfast-toy ${CMAKE_SOURCE_DIR}/src/app/main/holdfast.c ${hf_toy_dir}/fronts.c)
target_include_directories(holdfast-toy PRIVATE ${CMAKE_SOURCE_DIR}/protocols)
target_link_libraries(holdfast-toy PRIVATE hf_app hf_sip hf_rdp hf_toy hf_app)
set_target_properties(holdfast-toy PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

hf_unit_tests(toy tests/front_toy hf_toy hf_base)

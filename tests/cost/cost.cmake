# Cost in instructions: NAME.c of this folder does a thing as many times as it is told, and count.py has callgrind count what once takes.
# NAME and the most it may be, some above what gcc -O2 makes of it. Not for instrumented programs, nor where a scanner has no SSE2.
set(hf_costs
  "sip 17700 hf_sip hf_base"
  "notice 1050 hf_net hf_fronts_all hf_net hf_config hf_fronts_all hf_base"
  "guard 2820 hf_net hf_base"
)

if(HF_SANITIZE OR HF_FUZZ OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  return()
endif()
find_package(Python3 COMPONENTS Interpreter)
foreach(row ${hf_costs})
  separate_arguments(words UNIX_COMMAND "${row}")
  list(POP_FRONT words name most)
  add_executable(cost_${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
  target_include_directories(cost_${name} PRIVATE ${CMAKE_SOURCE_DIR}/protocols ${CMAKE_SOURCE_DIR}/protocols/${name} ${CMAKE_SOURCE_DIR}/src/net)
  target_link_libraries(cost_${name} PRIVATE ${words})
  add_test(NAME cost/${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/count.py $<TARGET_FILE:cost_${name}> ${most})
  set_tests_properties(cost/${name} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
endforeach()

# The way of eight transactions. Holds, and what is remembered, are parts of it.
add_executable(cost_way ${CMAKE_CURRENT_LIST_DIR}/way.c)
target_include_directories(cost_way PRIVATE ${CMAKE_SOURCE_DIR}/src/net)
target_link_libraries(cost_way PRIVATE hf_net hf_fronts_all hf_net hf_config hf_fronts_all hf_base)
foreach(row "auto 208000" "hash 208000" "plain 183000")
  separate_arguments(words UNIX_COMMAND "${row}")
  list(POP_FRONT words how most)
  add_test(NAME cost/way-${how} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/count.py $<TARGET_FILE:cost_way> ${most} udp_readable ${how})
  set_tests_properties(cost/way-${how} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
endforeach()

# Calls of the system, of the gateway itself.
add_test(NAME cost/calls COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/calls.py ${CMAKE_BINARY_DIR})
set_tests_properties(cost/calls PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)

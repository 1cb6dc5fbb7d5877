# The program that hammers a living gateway (tests/scenario/hammer.py starts it).
file(GLOB hf_hammer_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
add_executable(holdfast-hammer ${hf_hammer_sources})
target_link_libraries(holdfast-hammer PRIVATE hf_base)
set_target_properties(holdfast-hammer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

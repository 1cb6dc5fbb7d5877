# Fuzz targets: tests/fuzz/NAME.c has LLVMFuzzerTestOneInput. With HF_FUZZ (clang) it becomes a libFuzzer program
# fuzz_NAME; without, fuzz_NAME replays files, and ctest runs it over tests/fuzz/corpus/NAME. One line a target: NAME and what
# it is linked with; a target whose file is not there is left out.
set(hf_fuzz_targets
  "ini       hf_config hf_fronts_all hf_config hf_base"
  "admin     hf_app hf_base"
  "json      hf_base"
  "hexdump   hf_base"
  "sip_scan  hf_sip hf_base"
  "sip_forms hf_sip hf_base"
  "sip_stream hf_sip hf_base"
  "sip_osip  hf_sip hf_base"
  "sip_edit  hf_sip hf_base"
  "sip_answer hf_sip hf_base"
  "sip_key   hf_sip hf_base"
  "sip_values hf_sip hf_base"
  "sip_stun  hf_sip hf_base"
  "sip_flow  hf_sip hf_base"
  "x224      hf_rdp hf_base"
  "rdp_token hf_rdp hf_base"
  "rdp_signed hf_rdp hf_base"
  "rdp_opening hf_rdp hf_base"
  "rdp_step  hf_rdp hf_base"
  "rdp_syn   hf_rdp hf_base"
  "proxy     hf_net hf_base"
  "agent     hf_net hf_base"
  "dns_ttl   hf_net hf_base"
  "hep       hf_net hf_config hf_fronts_all hf_config hf_base"
  "ws        hf_net hf_base"
  "state_file hf_store hf_base"
  "state_restore hf_net hf_engine hf_base"
)

foreach(row ${hf_fuzz_targets})
  separate_arguments(words UNIX_COMMAND "${row}")
  list(POP_FRONT words name)
  if(NOT EXISTS ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
    continue()
  endif()
  add_executable(fuzz_${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/src/app ${CMAKE_SOURCE_DIR}/protocols ${CMAKE_SOURCE_DIR}/protocols/sip ${CMAKE_SOURCE_DIR}/protocols/rdp
                             ${CMAKE_SOURCE_DIR}/src/net ${CMAKE_SOURCE_DIR}/src/store ${CMAKE_SOURCE_DIR}/tests/unit/net)
  target_link_libraries(fuzz_${name} PRIVATE ${words})
  if(HF_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set(arguments -runs=0)
  else()
    target_sources(fuzz_${name} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/replay.c)
    set(arguments)
  endif()
  file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/corpus/${name}/*)
  if(corpus)
    add_test(NAME fuzz/${name} COMMAND fuzz_${name} ${arguments} ${CMAKE_CURRENT_LIST_DIR}/corpus/${name})
    set_tests_properties(fuzz/${name} PROPERTIES TIMEOUT 120)
  endif()
endforeach()

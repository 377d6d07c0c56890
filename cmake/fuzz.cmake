# Fuzz targets, in sanitizer builds only: without a sanitizer most of what they provoke stays unseen.
# g++ gets the small driver of our own; clang its libFuzzer.
function(assay_fuzz_target name)
  add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/${name}.cc)
  target_link_libraries(${name} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.cc)
  endif()
endfunction()

assay_fuzz_target(fuzz_format assay_format)
assay_fuzz_target(fuzz_manifest assay_dump)
assay_fuzz_target(fuzz_pickle assay_format)
assay_fuzz_target(fuzz_rule assay_judge)
assay_fuzz_target(fuzz_text assay_tensor)

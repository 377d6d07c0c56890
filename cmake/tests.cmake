# Unit tests lie beside the code: one test program per folder.
find_package(GTest REQUIRED)
include(GoogleTest)

# Tests are compiled more often than they run; what they test is optimised.
add_library(assay_test_options INTERFACE)
target_compile_options(assay_test_options INTERFACE -O0)
if(ASSAY_SANITIZE MATCHES undefined)
  target_compile_options(assay_test_options INTERFACE -fno-sanitize=null,alignment)
endif()
assay_prelude(assay_test_prelude assay_options)
target_link_libraries(assay_test_prelude PRIVATE assay_test_options GTest::gmock)
target_precompile_headers(assay_test_prelude PRIVATE <gmock/gmock.h> <fstream>)

function(assay_unit_tests target folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*_test.cc ${PROJECT_SOURCE_DIR}/${folder}/*/*_test.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${target}_test ${sources})
  assay_unity(${target}_test)
  target_link_libraries(${target}_test PRIVATE ${target} assay_test_options ${ARGN} GTest::gmock GTest::gtest_main)
  target_precompile_headers(${target}_test REUSE_FROM assay_test_prelude)
  target_compile_definitions(${target}_test PRIVATE ASSAY_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  # Asked for their tests by ctest, not while building: run_all.py runs whole programs.
  gtest_discover_tests(${target}_test TEST_PREFIX ${folder}/ DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 120)
endfunction()

# Arithmetic is tested as it is optimised too; the rest once, where faults show most: compiling it twice takes minutes.
set(tested_folders tensor metric golden)
if(ASSAY_SANITIZE OR ASSAY_ALL_TESTS)
  list(APPEND tested_folders base support model format dump graph match judge report compat run)
endif()
foreach(folder ${tested_folders})
  assay_unit_tests(assay_${folder} assay/${folder} ZLIB::ZLIB SQLite::SQLite3)
endforeach()
assay_unit_tests(assay_compat_metric assay/compat/*/metric)
assay_unit_tests(assay_capture capture fmt::fmt)
assay_unit_tests(assay_probe_core probe fmt::fmt)
if(TARGET assay_graph_test)
  target_link_libraries(assay_graph_test PRIVATE assay_proto)  # to read back what was written
endif()
if(TARGET assay_support_test)
  target_link_libraries(assay_support_test PRIVATE protobuf::libprotobuf)  # whose text form is the oracle of ours
endif()

if(ASSAY_SANITIZE)
  assay_unit_tests(assay_cli cli)
endif()

include(cmake/hosts.cmake)

# Makes the tensor files that the case tests name.
add_executable(mkdump ${PROJECT_SOURCE_DIR}/tests/tools/mkdump.cc)
target_link_libraries(mkdump PRIVATE assay_format)
assay_use_prelude(mkdump)

# Not the Python that may come first on PATH: numpy and torch are Debian's.
set(python /usr/bin/python3)
set(tools ${PROJECT_SOURCE_DIR}/tests/tools)
add_test(NAME cases COMMAND ${python} ${tools}/run_cases.py --bin $<TARGET_FILE_DIR:assay>)
add_test(NAME python_oracle COMMAND ${python} ${tools}/check_python.py --bin $<TARGET_FILE_DIR:assay>)
add_test(NAME onnx COMMAND ${python} ${tools}/check_onnx.py --bin $<TARGET_FILE_DIR:assay>)
add_test(NAME dependencies COMMAND ${python} ${tools}/check_dependencies.py)
add_test(NAME one_way_out COMMAND ${python} ${tools}/check_output.py)
add_test(NAME screen COMMAND ${python} ${tools}/check_screen.py --bin $<TARGET_FILE_DIR:assay>)
add_test(NAME writing COMMAND ${python} ${tools}/check_writing.py --bin $<TARGET_FILE_DIR:assay>)
# run_all.py runs these by itself, to count what is inside them.
set_tests_properties(cases python_oracle onnx dependencies one_way_out screen writing PROPERTIES LABELS script TIMEOUT 900)

if(ASSAY_SANITIZE)
  include(cmake/fuzz.cmake)
endif()

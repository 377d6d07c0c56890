# What is loaded into other people's programs: libassay.so and libassay_probe.so. They need nothing at run time but the C and C++
# libraries, so the little that they share with the rest is compiled once more for them: position independent, hidden, with fmt inside.
file(GLOB capture_sources CONFIGURE_DEPENDS capture/*.cc)
list(FILTER capture_sources EXCLUDE REGEX "_test\\.cc$|c_interface\\.cc$")
set(shared_sources
  assay/base/columns.cc assay/base/console.cc assay/base/crc32.cc assay/base/printable.cc assay/base/result.cc assay/base/system_message.cc
  assay/base/temporary_name.cc assay/base/text.cc assay/base/zip_records.cc
  assay/tensor/dense_pack.cc assay/tensor/dtype.cc assay/tensor/dtype_small.cc assay/tensor/operand.cc
  assay/tensor/strided_copy.cc
  assay/format/atb_bin_write.cc assay/format/npy_write.cc assay/format/pt_names.cc assay/format/pt_one_tensor.cc
  assay/format/pt_write.cc
  assay/format/safetensors_write.cc)
add_library(assay_capture STATIC ${capture_sources} ${shared_sources})
# Vectors never leave the functions that are compiled with the instructions for them.
set_source_files_properties(capture/statistics.cc PROPERTIES COMPILE_OPTIONS -Wno-psabi SKIP_UNITY_BUILD_INCLUSION ON)

# Compiled like the above, with these names alone to be seen.
function(assay_loadable target name map)
  add_library(${target} SHARED ${ARGN})
  target_link_libraries(${target} PRIVATE assay_capture)
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/${map} -Wl,--no-undefined -Wl,--as-needed
    -Wl,-Bsymbolic)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LINK_DEPENDS ${PROJECT_SOURCE_DIR}/${map})
endfunction()
assay_loadable(assay_library assay capture/libassay.map capture/c_interface.cc)
target_compile_definitions(assay_library PRIVATE ASSAY_VERSION="${PROJECT_VERSION}")

file(GLOB probe_sources CONFIGURE_DEPENDS probe/*.cc)
list(FILTER probe_sources EXCLUDE REGEX "_test\\.cc$|symbols")
add_library(assay_probe_core STATIC ${probe_sources})
target_link_libraries(assay_probe_core PUBLIC assay_capture)
assay_loadable(assay_probe assay_probe probe/libassay_probe.map probe/symbols.cc probe/symbols_abi0.cc)
target_link_libraries(assay_probe PRIVATE assay_probe_core)
set_source_files_properties(probe/symbols.cc probe/symbols_abi0.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# The names that users of ATB know.
foreach(abi 0 1)
  file(CREATE_LINK libassay_probe.so ${PROJECT_BINARY_DIR}/libatb_probe_abi${abi}.so SYMBOLIC)
endforeach()

foreach(target assay_capture assay_library assay_probe_core assay_probe)
  target_link_libraries(${target} PUBLIC assay_options PRIVATE fmt::fmt-header-only)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD ${ASSAY_UNITY} UNITY_BUILD_BATCH_SIZE 12)
endforeach()

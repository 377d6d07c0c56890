# What records: part of libassay.so (cmake/library.cmake), and all that libassay_probe.so is made of. That is loaded into programs which
# never asked for us and needs nothing at run time but the C and C++ libraries, so the little that it shares with the rest is compiled
# once more for it, with fmt inside.
file(GLOB capture_sources CONFIGURE_DEPENDS capture/*.cc)
list(FILTER capture_sources EXCLUDE REGEX "_test\\.cc$")
set(shared_sources
  assay/base/caller.cc assay/base/columns.cc assay/base/console.cc assay/base/crc32.cc assay/base/file_signals.cc assay/base/files_and_lines.cc assay/base/printable.cc assay/base/result.cc
  assay/base/system_message.cc assay/base/temporary_name.cc assay/base/text.cc assay/base/zip_records.cc
  assay/tensor/dense_pack.cc assay/tensor/dtype.cc assay/tensor/dtype_small.cc assay/tensor/operand.cc
  assay/tensor/strided_copy.cc
  assay/format/atb_bin_write.cc assay/format/npy_write.cc assay/format/pt_names.cc assay/format/pt_one_tensor.cc
  assay/format/pt_write.cc
  assay/format/safetensors_write.cc)
add_library(assay_capture_writer OBJECT ${capture_sources})
add_library(assay_capture STATIC ${shared_sources} $<TARGET_OBJECTS:assay_capture_writer>)
# Vectors never leave the functions that are compiled with the instructions for them.
set_source_files_properties(capture/statistics.cc PROPERTIES COMPILE_OPTIONS -Wno-psabi SKIP_UNITY_BUILD_INCLUSION ON)

# A library of which these names alone are to be seen.
function(assay_shows target map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/${map} -Wl,--no-undefined -Wl,--as-needed
    -Wl,-Bsymbolic)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/${map})
endfunction()

file(GLOB probe_sources CONFIGURE_DEPENDS probe/*.cc)
list(FILTER probe_sources EXCLUDE REGEX "_test\\.cc$|symbols")
add_library(assay_probe_core STATIC ${probe_sources})
target_link_libraries(assay_probe_core PUBLIC assay_capture)
add_library(assay_probe SHARED probe/symbols.cc probe/symbols_abi0.cc)
assay_shows(assay_probe probe/libassay_probe.map)
target_link_libraries(assay_probe PRIVATE assay_probe_core)
set_source_files_properties(probe/symbols.cc probe/symbols_abi0.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# The names that users of ATB know.
foreach(abi 0 1)
  file(CREATE_LINK libassay_probe.so ${PROJECT_BINARY_DIR}/libatb_probe_abi${abi}.so SYMBOLIC)
endforeach()

foreach(target assay_capture_writer assay_capture assay_probe_core assay_probe)
  target_link_libraries(${target} PUBLIC assay_options PRIVATE fmt::fmt-header-only)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  assay_unity(${target})
  assay_loadable_code(${target})
endforeach()

# libassay.so: what the program does and what records, for other programs, behind include/assay/assay.h.
file(GLOB library_sources CONFIGURE_DEPENDS library/*.cc)
list(FILTER library_sources EXCLUDE REGEX "_test\\.cc$")
add_library(assay_library SHARED ${library_sources} $<TARGET_OBJECTS:assay_capture_writer>)
target_link_libraries(assay_library PRIVATE assay_cli assay_options)
target_include_directories(assay_library PUBLIC ${PROJECT_SOURCE_DIR})
# As the program's: a wheel has the libraries of other projects beside it, in lib.
set_target_properties(assay_library PROPERTIES OUTPUT_NAME assay INSTALL_RPATH "$ORIGIN/lib" BUILD_WITH_INSTALL_RPATH ON)
target_link_options(assay_library PRIVATE -Wl,--disable-new-dtags)
assay_unity(assay_library)
assay_loadable_code(assay_library)
assay_shows(assay_library library/libassay.map)

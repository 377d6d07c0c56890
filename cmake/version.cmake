# The commit is looked up at build time, so that it is right without configuring again; a tarball has none.
add_custom_target(assay_commit
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUT=${PROJECT_BINARY_DIR}/assay_version.cc
          -DVERSION=${PROJECT_VERSION} -P ${PROJECT_SOURCE_DIR}/cmake/write_version.cmake
  BYPRODUCTS ${PROJECT_BINARY_DIR}/assay_version.cc)
add_library(assay_version STATIC ${PROJECT_BINARY_DIR}/assay_version.cc)
assay_loadable_code(assay_version)
add_dependencies(assay_version assay_commit)
target_link_libraries(assay_version PUBLIC assay_options)

# The page of `--report html`, as `make web` has built it, as C++: the program needs no file beside it, and its build no Node.
foreach(part script style)
  if(part STREQUAL script)
    set(page_file ${PROJECT_SOURCE_DIR}/web/dist/page.js)
  else()
    set(page_file ${PROJECT_SOURCE_DIR}/web/dist/page.css)
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_file})
  file(READ ${page_file} page_${part})
  file(SHA256 ${page_file} page_${part}_sha256)
  if(page_${part} MATCHES "\\)assay_page\"")
    message(FATAL_ERROR "${page_file}: holds the end of a C++ text")
  endif()
endforeach()
# Not by configure_file(), which would look for variables in it.
string(CONCAT page_source
  "#include \"assay/report/page/bundle.h\"\n\nnamespace assay {\n\nconst PageBundle& page_bundle() {\n"
  "  static constexpr PageBundle kBundle = {\n"
  "      .script = R\"assay_page(" "${page_script}" ")assay_page\",\n"
  "      .style = R\"assay_page(" "${page_style}" ")assay_page\",\n"
  "      .script_sha256 = \"${page_script_sha256}\",\n"
  "      .style_sha256 = \"${page_style_sha256}\",\n"
  "  };\n  return kBundle;\n}\n\n}  // namespace assay\n")
file(WRITE ${PROJECT_BINARY_DIR}/page_bundle.new "${page_source}")
configure_file(${PROJECT_BINARY_DIR}/page_bundle.new ${PROJECT_BINARY_DIR}/page_bundle.cc COPYONLY)
target_sources(assay_report PRIVATE ${PROJECT_BINARY_DIR}/page_bundle.cc)

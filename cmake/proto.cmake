# Protobuf code is compiled once, without our warnings.
file(GLOB protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/schema/*.proto)
add_library(assay_proto STATIC ${protos})
assay_loadable_code(assay_proto)
target_link_libraries(assay_proto PUBLIC protobuf::libprotobuf)
target_include_directories(assay_proto SYSTEM PUBLIC ${PROJECT_BINARY_DIR})
protobuf_generate(TARGET assay_proto LANGUAGE cpp IMPORT_DIRS ${PROJECT_SOURCE_DIR} PROTOC_OUT_DIR ${PROJECT_BINARY_DIR})

# A stand-in for ATB and a program that runs on it, for each shape of std::string. They are what they stand for: no sanitizer inside,
# so that any build of the probe may be loaded into them.
foreach(abi 0 1)
  add_library(stand_in_atb_abi${abi} SHARED ${PROJECT_SOURCE_DIR}/tests/hosts/libatb.cc)
  set_target_properties(stand_in_atb_abi${abi} PROPERTIES OUTPUT_NAME atb
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/hosts/abi${abi})
  add_executable(atb_host_abi${abi} ${PROJECT_SOURCE_DIR}/tests/hosts/atb_host.cc)
  target_link_libraries(atb_host_abi${abi} PRIVATE stand_in_atb_abi${abi} pthread)
  set_target_properties(atb_host_abi${abi} PROPERTIES OUTPUT_NAME atb_host
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/hosts/abi${abi} BUILD_RPATH_USE_ORIGIN ON)
  foreach(target stand_in_atb_abi${abi} atb_host_abi${abi})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_definitions(${target} PRIVATE _GLIBCXX_USE_CXX11_ABI=${abi})
    target_compile_options(${target} PRIVATE -O1 -Wall -Wextra)
  endforeach()
endforeach()

# A program that calls the library, with the same sanitizer as that.
add_executable(library_host ${PROJECT_SOURCE_DIR}/tests/hosts/library_host.cc)
find_package(Threads REQUIRED)
target_link_libraries(library_host PRIVATE assay_library assay_options Threads::Threads)
set_target_properties(library_host PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/hosts BUILD_RPATH_USE_ORIGIN ON)

# A disk that takes its time, for whatever is loaded behind it.
add_library(slow_disk SHARED ${PROJECT_SOURCE_DIR}/tests/hosts/slow_disk.cc)
set_target_properties(slow_disk PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/hosts)
target_link_libraries(slow_disk PRIVATE ${CMAKE_DL_LIBS})
target_compile_options(slow_disk PRIVATE -O1 -Wall -Wextra)

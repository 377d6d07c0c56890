# The installed tree holds no absolute path: it may be moved as a whole.
include(GNUInstallDirs)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # a package needs no tests
install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET assay-mpi)
  install(TARGETS assay-mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mpi)
endif()
# What other programs load. The probe lies where `assay dump` looks for it, also under the names that users of ATB know.
install(TARGETS assay_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
install(TARGETS assay_probe LIBRARY DESTINATION lib/assay NAMELINK_SKIP)
install(FILES ${PROJECT_BINARY_DIR}/libatb_probe_abi0.so ${PROJECT_BINARY_DIR}/libatb_probe_abi1.so DESTINATION lib/assay)
install(FILES include/assay/assay.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay)
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/assay.pc CONTENT [[
prefix=${pcfiledir}/@prefix_from_pc@
Name: assay
Description: Records, reads and compares tensors
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@ -lassay
]] @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/assay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
# For the system's Python. The import names of other tools are not installed over those tools: they are a wheel of their own.
install(DIRECTORY python/assay DESTINATION lib/python3/dist-packages PATTERN __pycache__ EXCLUDE)
# Old scripts run unchanged with this folder first on PATH: the program goes by the name it was called by.
foreach(tool msprobe msit ait)
  file(CREATE_LINK assay ${PROJECT_BINARY_DIR}/${tool} SYMBOLIC)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/installed_links)
  file(CREATE_LINK ../../../bin/assay ${PROJECT_BINARY_DIR}/installed_links/${tool} SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/installed_links/${tool} DESTINATION lib/assay/compat)
endforeach()
# For programs that nobody can start through assay: a shell in which everything is recorded.
install(FILES scripts/atb/load_atb_probe.sh scripts/atb/unload_atb_probe.sh scripts/atb/config.json DESTINATION lib/assay/atb)
install(FILES cli/completion/assay.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME assay)
install(FILES cli/completion/_assay DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Compare tensors recorded from two runs of a model")
set(CPACK_PACKAGE_CONTACT "The Assay authors")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS libopenblas0)  # loaded when it is needed, so nothing links to it
if(TARGET assay-mpi)
  # A package of its own: whoever has one machine needs no MPI.
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_ALL Unspecified mpi)
  set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME assay)
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME assay-mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "libopenblas0, openmpi-bin")
  set(CPACK_COMPONENT_MPI_DESCRIPTION "Compare tensors recorded from two runs of a model, on many hosts")
endif()
include(CPack)

# find_package(softcheck) for other projects: softcheck::judge, the judge and its matcher, and the other libraries.
include(CMakePackageConfigHelpers)
get_property(targets GLOBAL PROPERTY softcheck_installed_targets)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/softcheck)
install(TARGETS ${targets}
  EXPORT softcheckTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/softcheck
  FILE_SET first_read DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/softcheck
)
install(DIRECTORY cmake/forwarded/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/softcheck)
install(EXPORT softcheckTargets NAMESPACE softcheck:: DESTINATION ${config_dir})
configure_package_config_file(cmake/softcheckConfig.cmake.in softcheckConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(softcheckConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/softcheckConfig.cmake
  ${PROJECT_BINARY_DIR}/softcheckConfigVersion.cmake
  cmake/FindMPFI.cmake
  cmake/FindArb.cmake
  cmake/FindLibzip.cmake
  cmake/FindSeccomp.cmake
  DESTINATION ${config_dir}
)

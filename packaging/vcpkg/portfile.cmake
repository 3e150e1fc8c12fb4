# An overlay port that builds the sources it stands in, a checkout or the archive that ./run package makes:
# vcpkg install softcheck --overlay-ports=softcheck-0.3.0/packaging/vcpkg
message(STATUS "softcheck takes MPFI, MPFR and GMP from the system, as vcpkg has no MPFI: libmpfi-dev, libmpfr-dev and libgmp-dev on Debian")
cmake_path(NORMAL_PATH CURRENT_PORT_DIR)
cmake_path(GET CURRENT_PORT_DIR PARENT_PATH packaging)
cmake_path(GET packaging PARENT_PATH SOURCE_PATH)

# What is optional, and a system's library beside those of vcpkg, is left out.
set(without)
foreach(optional IN ITEMS Arb Seccomp Libzip DNNL)
  list(APPEND without -DCMAKE_DISABLE_FIND_PACKAGE_${optional}=ON)
endforeach()
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DSOFTCHECK_BUILD_TESTS=OFF -DSOFTCHECK_BUILD_BENCHMARKS=OFF -DSOFTCHECK_WARNINGS_AS_ERRORS=OFF -DSOFTCHECK_UNITY=12 ${without}
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME softcheck CONFIG_PATH lib/cmake/softcheck)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES softcheck AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
# vcpkg would tell a user of the modules that find our dependencies, and of none of our own targets.
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/softcheck")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

# Debian packages for `./run package`: libsoftcheck0 (the library), libsoftcheck-dev (headers, archives, CMake and pkg-config
# files), softcheck (the command, our CPU kernels and the trained networks) and python3-softcheck (the Python package, on
# the library and the command of the other two).
set(python_packages lib/python3/dist-packages)
set(python COMPONENT python_debian EXCLUDE_FROM_ALL)
install(DIRECTORY python/softcheck DESTINATION ${python_packages} ${python} PATTERN __pycache__ EXCLUDE)
# Where the package looks for what a wheel brings with it.
set(links ${PROJECT_BINARY_DIR}/generated/python_links)
file(MAKE_DIRECTORY ${links})
file(CREATE_LINK ../../../../${CMAKE_SHARED_LIBRARY_PREFIX}softcheck.so.${PROJECT_VERSION_MAJOR} ${links}/libsoftcheck.so SYMBOLIC)
file(CREATE_LINK ../../../../../bin/softcheck ${links}/softcheck SYMBOLIC)
install(FILES ${links}/libsoftcheck.so DESTINATION ${python_packages}/softcheck/lib ${python})
install(FILES ${links}/softcheck DESTINATION ${python_packages}/softcheck/bin ${python})
# pip and pytest know an installed package, and its plugin, by these.
set(information ${PROJECT_BINARY_DIR}/generated/softcheck-${PROJECT_VERSION}.dist-info)
file(CONFIGURE OUTPUT ${information}/METADATA CONTENT
  "Metadata-Version: 2.1\nName: softcheck\nVersion: @PROJECT_VERSION@\nRequires-Python: >=3.9\nRequires-Dist: numpy>=1.22\nRequires-Dist: cloudpickle>=1.6\n" @ONLY)
file(CONFIGURE OUTPUT ${information}/entry_points.txt CONTENT "[pytest11]\nsoftcheck = softcheck.pytest_plugin\n" @ONLY)
install(DIRECTORY ${information} DESTINATION ${python_packages} ${python})
set(packages library libsoftcheck${PROJECT_VERSION_MAJOR} development libsoftcheck-dev command softcheck python_debian python3-softcheck)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME softcheck)
set(CPACK_PACKAGE_VENDOR softcheck)
set(CPACK_PACKAGE_CONTACT "softcheck <softcheck@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL library development command python_debian)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(own "libsoftcheck${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The C library: it judges kernels and tensors by thresholds that are derived\nfrom what a kernel promises, with enclosures.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Files for development: headers, archives, CMake and pkg-config files.")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "The command: it decides every claim of the theory, judges kernels, tensors and\ncheckpoints, and draws the tables and figures.")
set(CPACK_COMPONENT_PYTHON_DEBIAN_DESCRIPTION "The Python package: softcheck.check, softcheck.assert_output and a plugin for\npytest.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_SHLIBDEPS OFF)
# What its headers and archives need of others (cmake/softcheckConfig.cmake.in).
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${own}, libdlpack-dev, libboost-context-dev, libboost-dev, libeigen3-dev, libhwy-dev, libfmt-dev, nlohmann-json3-dev, librapidcheck-dev, libmpfi-dev")
foreach(optional Arb:libflint-arb-dev Seccomp:libseccomp-dev Libzip:libzip-dev)
  string(REPLACE ":" ";" optional ${optional})
  list(GET optional 0 found)
  list(GET optional 1 package)
  if(${found}_FOUND)
    string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", ${package}")
  endif()
endforeach()
set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_DEPENDS "${own}, softcheck (= ${PROJECT_VERSION}), python3 (>= 3.9), python3-numpy (>= 1:1.22), python3-cloudpickle (>= 1.6)")
# For the loader, and for packages that link the library.
set(control ${PROJECT_BINARY_DIR}/generated/debian)
file(CONFIGURE OUTPUT ${control}/triggers CONTENT "activate-noawait ldconfig\n")
file(CONFIGURE OUTPUT ${control}/shlibs CONTENT "libsoftcheck @PROJECT_VERSION_MAJOR@ ${own}\n" @ONLY)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${control}/triggers ${control}/shlibs)
file(CONFIGURE OUTPUT ${control}/copyright CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: softcheck

Files: *
Copyright: 2026 the authors of softcheck
License: Apache-2.0
 On Debian systems the text of this license is in
 /usr/share/common-licenses/Apache-2.0.
Comment: The programs have code of the headers of Debian's librapidcheck-dev
 (BSD-2-Clause), nlohmann-json3-dev and libtomlplusplus-dev (MIT), libcli11-dev
 (BSD-3-Clause) and libeigen3-dev (MPL-2.0), whose notices are in
 /usr/share/doc of these packages.
")
# ./run package writes them, too, by the command (cmake/command_pages.sh).
install(FILES ${control}/softcheck.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command EXCLUDE_FROM_ALL OPTIONAL)
install(FILES ${control}/softcheck DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT command
  EXCLUDE_FROM_ALL OPTIONAL)
while(packages)
  list(POP_FRONT packages component package)
  # ./run package writes the changelog, whose date is the commit's.
  install(FILES ${control}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${control}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component}
    EXCLUDE_FROM_ALL OPTIONAL)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
endwhile()
include(CPack)

# Seccomp::Seccomp: libseccomp, which writes the filters of system calls that kernels run under.
find_path(Seccomp_INCLUDE_DIR seccomp.h)
find_library(Seccomp_LIBRARY seccomp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Seccomp REQUIRED_VARS Seccomp_LIBRARY Seccomp_INCLUDE_DIR)
if(Seccomp_FOUND AND NOT TARGET Seccomp::Seccomp)
  add_library(Seccomp::Seccomp INTERFACE IMPORTED)
  set_target_properties(Seccomp::Seccomp PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Seccomp_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${Seccomp_LIBRARY}"
  )
endif()
mark_as_advanced(Seccomp_INCLUDE_DIR Seccomp_LIBRARY)

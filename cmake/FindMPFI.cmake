# MPFI::MPFI, with MPFR and GMP behind it: interval arithmetic with outward rounding at any precision.
find_path(MPFI_INCLUDE_DIR mpfi.h)
find_library(MPFI_LIBRARY mpfi)
find_library(MPFR_LIBRARY mpfr)
find_library(GMP_LIBRARY gmp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MPFI REQUIRED_VARS MPFI_LIBRARY MPFI_INCLUDE_DIR MPFR_LIBRARY GMP_LIBRARY)
if(MPFI_FOUND AND NOT TARGET MPFI::MPFI)
  add_library(MPFI::MPFI INTERFACE IMPORTED)
  set_target_properties(MPFI::MPFI PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${MPFI_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${MPFI_LIBRARY};${MPFR_LIBRARY};${GMP_LIBRARY}"
  )
endif()
mark_as_advanced(MPFI_INCLUDE_DIR MPFI_LIBRARY MPFR_LIBRARY GMP_LIBRARY)

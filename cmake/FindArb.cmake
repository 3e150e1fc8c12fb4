# Arb::Arb: ball arithmetic, the second and independent oracle. Debian names the library flint-arb, others arb.
find_path(Arb_INCLUDE_DIR arb.h)
find_library(Arb_LIBRARY NAMES flint-arb arb)
find_library(FLINT_LIBRARY flint)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Arb REQUIRED_VARS Arb_LIBRARY Arb_INCLUDE_DIR FLINT_LIBRARY)
if(Arb_FOUND AND NOT TARGET Arb::Arb)
  add_library(Arb::Arb INTERFACE IMPORTED)
  set_target_properties(Arb::Arb PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Arb_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${Arb_LIBRARY};${FLINT_LIBRARY}"
  )
endif()
mark_as_advanced(Arb_INCLUDE_DIR Arb_LIBRARY FLINT_LIBRARY)

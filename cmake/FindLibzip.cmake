# Libzip::Libzip: libzip, which unpacks .npz files. Its own CMake file on Debian ends with an error unless the packages of
# its programs are installed too.
find_path(Libzip_INCLUDE_DIR zip.h)
find_library(Libzip_LIBRARY zip)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libzip REQUIRED_VARS Libzip_LIBRARY Libzip_INCLUDE_DIR)
if(Libzip_FOUND AND NOT TARGET Libzip::Libzip)
  add_library(Libzip::Libzip INTERFACE IMPORTED)
  set_target_properties(Libzip::Libzip PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Libzip_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${Libzip_LIBRARY}"
  )
endif()
mark_as_advanced(Libzip_INCLUDE_DIR Libzip_LIBRARY)

# Results are labelled with the commit that made them: asked for at every build, rewritten only when it changed.
set(softcheck_generated ${PROJECT_BINARY_DIR}/generated)
add_custom_target(softcheck_build_info
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
    "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" -DARB=${Arb_FOUND}
    -DOUTPUT=${softcheck_generated}/build_info.inc -P ${PROJECT_SOURCE_DIR}/cmake/build_info.cmake
  BYPRODUCTS ${softcheck_generated}/build_info.inc
  VERBATIM
)

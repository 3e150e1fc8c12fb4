# What the Python package brings with it (pyproject.toml): the library, the command, the kernels and networks that
# `softcheck verify` decides about, and licences.
#
# `pip install .` takes the files of this build. The wheel of `./run wheel` has to run with older versions of glibc:
# its files are linked once more, from the same objects, with what cmake/portable.sh made in the folder SOFTCHECK_PORTABLE.
set(SOFTCHECK_PORTABLE "" CACHE PATH "Link the files of the Python package for glibc 2.28: what cmake/portable.sh made")
set(wheel EXCLUDE_FROM_ALL COMPONENT python)
add_custom_target(softcheck_wheel)

# softcheck_in_the_wheel(TARGET FOLDER NAME)
function(softcheck_in_the_wheel target folder name)
  set(linked ${target})
  if(SOFTCHECK_PORTABLE)
    set(linked ${target}_portable)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "TARGET_OBJECTS")
    set(objects $<TARGET_OBJECTS:${target}> ${sources})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      add_executable(${linked} EXCLUDE_FROM_ALL ${objects})
    else()
      add_library(${linked} MODULE EXCLUDE_FROM_ALL ${objects})
    endif()
    set(output ${PROJECT_BINARY_DIR}/portable)
    set_target_properties(${linked} PROPERTIES LINKER_LANGUAGE CXX
      RUNTIME_OUTPUT_DIRECTORY ${output} LIBRARY_OUTPUT_DIRECTORY ${output})
    # Whole archives come first, so that Debian's shared libraries, which need a newer glibc, define nothing that is missing.
    set(libc ${SOFTCHECK_PORTABLE}/libc)
    set(archives ${SOFTCHECK_PORTABLE}/archives)
    find_library(SOFTCHECK_STATIC_ZLIB libz.a REQUIRED)
    target_link_libraries(${linked} PRIVATE
      -Wl,--whole-archive ${archives}/libhwy.a ${archives}/libfmt.a ${archives}/libzip.a -Wl,--no-whole-archive
      ${SOFTCHECK_STATIC_ZLIB} $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
    target_link_options(${linked} PRIVATE $<TARGET_PROPERTY:${target},LINK_OPTIONS> -s -B${libc} -L${libc}
      -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--as-needed)
  endif()
  add_dependencies(softcheck_wheel ${linked})
  install(PROGRAMS $<TARGET_FILE:${linked}> DESTINATION softcheck/${folder} RENAME ${name} ${wheel})
endfunction()
softcheck_in_the_wheel(softcheck_library lib libsoftcheck.so)
softcheck_in_the_wheel(softcheck bin softcheck)
softcheck_in_the_wheel(softcheck_cpu_kernels ${CMAKE_INSTALL_LIBDIR}/softcheck libsoftcheck_cpu_kernels.so)
install(DIRECTORY experiments/models/seeds DESTINATION softcheck/${CMAKE_INSTALL_DATADIR}/softcheck/models ${wheel})

# The licences of the libraries that auditwheel copies, of those that are linked in, and of headers.
foreach(package libgmp10 libmpfr6 libmpfi0 libseccomp2 libhwy1 libfmt9 libzip4 zlib1g libstdc++6 libc6
    librapidcheck-dev nlohmann-json3-dev libeigen3-dev libcli11-dev libtomlplusplus-dev)
  install(FILES ${CMAKE_SYSROOT}/usr/share/doc/${package}/copyright DESTINATION softcheck/licences RENAME ${package}.txt OPTIONAL ${wheel})
endforeach()
install(FILES LICENSE DESTINATION softcheck/licences RENAME softcheck.txt ${wheel})

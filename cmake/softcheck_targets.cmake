# One CMake target per folder: the folder's name is its namespace, its target and its include path from the root.
# Sources are globbed, so that a new claim, kernel or test is one file and no edit here.

add_library(softcheck_compile_options INTERFACE)
target_compile_features(softcheck_compile_options INTERFACE cxx_std_20)
# Contraction to FMA changes rounding behind the back of every a-priori bound: an fma is written where one is wanted.
target_compile_options(softcheck_compile_options INTERFACE -Wall -Wextra -ffp-contract=off)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # Highway takes the instruction set that the compiler has for every processor of its kind: NEON on aarch64. Vectors of
  # SVE have no size that a compiler knows, and our bodies keep arrays of vectors.
  # Without its look at the processor (the second macro) its functions have no attribute of AES either, which constructors
  # that g++ writes for our structures of vectors would lack: g++ refuses to inline the one into the other.
  target_compile_definitions(softcheck_compile_options INTERFACE HWY_COMPILE_ONLY_STATIC TOOLCHAIN_MISS_SYS_AUXV_H)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # It notes that g++ before 10.1 passed some structures otherwise.
    target_compile_options(softcheck_compile_options INTERFACE -Wno-psabi)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: -Wrestrict misfires on `const char* + std::string` at -O3 in g++ 12.
  target_compile_options(softcheck_compile_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ collects its garbage for the first time at 128 MB; at 1 GB (in kB) it takes a tenth less time for most units here, and
  # 0.3 GB more.
  target_compile_options(softcheck_compile_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>)
  # Nobody replaces our functions by others of the same name (LD_PRELOAD), which g++ else grants each function of a shared
  # library, and so inlines few: judgements take 6 to 9 % less time (judge/bench_judge, in pairs).
  target_compile_options(softcheck_compile_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
endif()
if(SOFTCHECK_WARNINGS_AS_ERRORS)
  target_compile_options(softcheck_compile_options INTERFACE -Werror)
endif()
if(SOFTCHECK_SANITIZE)
  if(NOT SOFTCHECK_SANITIZE MATCHES "^(address|undefined|address,undefined)$")
    set(SOFTCHECK_SANITIZE address,undefined)
  endif()
  set(sanitizers -fsanitize=${SOFTCHECK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(softcheck_compile_options INTERFACE
    "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:softcheck_unsanitized>>>:${sanitizers}>"
  )
  target_link_options(softcheck_compile_options INTERFACE -fsanitize=${SOFTCHECK_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105562: -Wmaybe-uninitialized misfires inside std::regex under -fsanitize=address in g++ 12.
    target_compile_options(softcheck_compile_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  endif()
endif()
if(SOFTCHECK_COVERAGE)
  target_compile_options(softcheck_compile_options INTERFACE --coverage)
  target_link_options(softcheck_compile_options INTERFACE --coverage)
endif()

# The sources that a bug planted in every run changes: compiled with no other, so that the bug is built soon.
set(softcheck_planted_sources)
file(GLOB planted_tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/proptests/tests/planted/*.tsv)
foreach(table IN LISTS planted_tables)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} text)
  string(REGEX MATCHALL "\tquick\t[a-z0-9_/]+\\.cpp\t" sources "${text}")
  list(TRANSFORM sources REPLACE "\tquick\t(.*)\t" "${PROJECT_SOURCE_DIR}/\\1")
  list(APPEND softcheck_planted_sources ${sources})
endforeach()

# softcheck_unity(TARGET SOURCES...): up to SOFTCHECK_UNITY of these sources, where it is not 0, become one for each
# folder: most of their time goes into the headers that they share. Names in anonymous namespaces do not clash within a
# folder (Build.ClangTidyFindsNothing). A source that Highway includes again for each instruction set is compiled alone, as
# is one with a line `// Compiled alone: REASON`.
function(softcheck_unity target)
  if(NOT SOFTCHECK_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ takes an included source for a header, whose types would be others in each source.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
  set(folder)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source)
    file(STRINGS ${source} alone REGEX "foreach_target\\.h|^// Compiled alone: " LIMIT_COUNT 1)
    if(alone OR source IN_LIST softcheck_planted_sources)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    cmake_path(GET source PARENT_PATH parent)
    # The rooms of these are one folder here.
    if(NOT parent MATCHES "/judge/(exhaustive|results|survivors|campaigns)")
      string(REGEX REPLACE "(/numerics|/judge|/proptests/generators)(/ops)?/[a-z_0-9]+$" "\\1" parent ${parent})
    endif()
    if(NOT parent STREQUAL folder)
      set(folder ${parent})
      set(count 0)
    endif()
    math(EXPR group "${count} / ${SOFTCHECK_UNITY}")
    math(EXPR count "${count} + 1")
    cmake_path(RELATIVE_PATH parent BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${parent}_${group}" name)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name})
  endforeach()
endfunction()

# softcheck_library(NAME SOURCES... HEADERS... LINK ... LINK_PRIVATE ...)
function(softcheck_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;LINK;LINK_PRIVATE" ${ARGN})
  add_library(softcheck_${name} STATIC ${arg_SOURCES})
  if(NOT name MATCHES "^(numerics|experiments|emulator)$")
    # Compiles in two thirds of the time: what takes time is done in those three.
    target_compile_options(softcheck_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  add_library(softcheck::${name} ALIAS softcheck_${name})
  set_target_properties(softcheck_${name} PROPERTIES
    EXPORT_NAME ${name}
    OUTPUT_NAME softcheck_${name}
    POSITION_INDEPENDENT_CODE ON
    VERIFY_INTERFACE_HEADER_SETS ON
    INTERFACE_HEADER_SETS_TO_VERIFY HEADERS
    LINKER_LANGUAGE CXX
  )
  target_compile_features(softcheck_${name} PUBLIC cxx_std_20)
  # Each header compiles alone: those that a source reads before all else do so there, the others in a source of their own.
  set(first_read)
  set(others)
  foreach(header IN LISTS arg_HEADERS)
    cmake_path(ABSOLUTE_PATH header NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(REPLACE_EXTENSION path LAST_ONLY cpp OUTPUT_VARIABLE source)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    set(directive)
    if(source IN_LIST arg_SOURCES)
      file(STRINGS ${source} directive REGEX "^[ \t]*#" LIMIT_COUNT 1)
    endif()
    if(directive STREQUAL "#include \"${path}\"")
      list(APPEND first_read ${header})
    else()
      list(APPEND others ${header})
    endif()
  endforeach()
  target_sources(softcheck_${name} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${others}
    FILE_SET first_read TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${first_read}
  )
  target_include_directories(softcheck_${name} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/softcheck>)
  target_link_libraries(softcheck_${name}
    PUBLIC ${arg_LINK}
    PRIVATE $<BUILD_INTERFACE:softcheck_compile_options> ${arg_LINK_PRIVATE}
  )
  softcheck_unity(softcheck_${name} ${arg_SOURCES})
  set_property(GLOBAL APPEND PROPERTY softcheck_installed_targets softcheck_${name})
endfunction()

# Every test has exactly one of four labels (Build.EveryTestHasOneLabel): `fast`; `full`, for a test of more than about a
# second or of a suite of more than ten, as all that are fast are to take 90 s on two cores; `proofs`, for a test that needs
# Coq; `deep`, for one that `./run test` leaves to `./run test --deep`. A GoogleTest is fast unless a source of its program
# has a line `// Labelled full: FILTER`
# or `// Labelled deep: FILTER` with a filter of GoogleTest that names it; deep outranks full. Tests of add_test have the
# property LABELS beside them.

# softcheck_labelled_tests(VARIABLE LABEL SOURCES...): the filters of these sources, joined.
function(softcheck_labelled_tests variable label)
  set(filters)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} lines REGEX "^// Labelled ${label}: ")
    list(TRANSFORM lines REPLACE "^// Labelled ${label}: +" "")
    list(APPEND filters ${lines})
    if(lines)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    endif()
  endforeach()
  list(JOIN filters ":" filters)
  set(${variable} "${filters}" PARENT_SCOPE)
endfunction()

# softcheck_test(NAME SOURCES... LINK ...): a GoogleTest program whose tests ctest sees one by one.
function(softcheck_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  # Without one the presets' holds, which a command line can lengthen: `./run test --deep` does.
  if(arg_TIMEOUT)
    set(timeout TIMEOUT ${arg_TIMEOUT})
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE softcheck_compile_options GTest::gmock GTest::gtest_main ${arg_LINK})
  softcheck_unity(${name} ${arg_SOURCES})
  softcheck_labelled_tests(full full ${arg_SOURCES})
  softcheck_labelled_tests(deep deep ${arg_SOURCES})
  # A pinned seed: the same cases on every machine. `softcheck test --seed` draws others. What is freed is kept, as the
  # command does (cli/main.cpp).
  set(properties ${timeout} ENVIRONMENT
    "RC_PARAMS=seed=20241001;MALLOC_MMAP_THRESHOLD_=1073741824;MALLOC_TRIM_THRESHOLD_=1073741824")
  if(deep)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 TEST_FILTER "${deep}" TEST_LIST ${name}_deep_TESTS
      PROPERTIES ${properties} LABELS deep)
  endif()
  if(full)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 TEST_FILTER "${full}-${deep}" TEST_LIST ${name}_full_TESTS
      PROPERTIES ${properties} LABELS full)
  endif()
  if(full OR deep)
    string(JOIN ":" labelled ${full} ${deep})
    set(others TEST_FILTER "-${labelled}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 ${others} PROPERTIES ${properties} LABELS fast)
endfunction()

# softcheck_benchmark(NAME SOURCES... LINK ...): a Google Benchmark program that `./run bench` runs.
function(softcheck_benchmark name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE softcheck_compile_options benchmark::benchmark ${arg_LINK})
  set_property(GLOBAL APPEND PROPERTY softcheck_benchmark_programs ${name})
endfunction()

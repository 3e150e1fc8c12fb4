#!/bin/sh
# packaging.sh CMAKE: the vcpkg port as far as it can be checked without vcpkg: its files parse, have this version, name a
# port for each library that CMakeLists.txt requires, and its portfile configures the sources by options that there are.
# What vcpkg itself does with it is not seen here.
set -eu
cd "$(dirname "$0")/../../.."
cmake=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "packaging: $*"; exit 1; }
command -v python3 >/dev/null 2>&1 || { echo "Skipped: no python3"; exit 77; }

python3 - packaging/vcpkg/vcpkg.json CMakeLists.txt cmake/softcheck_dependencies.cmake <<'END' || fail "vcpkg.json is not of these sources"
import json, re, sys
port = json.load(open(sys.argv[1]))
version = re.search(r"project\(softcheck VERSION ([0-9.]+)", open(sys.argv[2]).read()).group(1)
assert port["name"] == "softcheck" and port["version"] == version, (port["version"], version)
assert set(port) == {"name", "version", "description", "license", "supports", "dependencies"}, sorted(port)
names = [d if isinstance(d, str) else d["name"] for d in port["dependencies"]]
assert names == sorted(set(names)) and all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", n) for n in names), names
# CMake's name of each library that the build requires, and vcpkg's.
ports = {"Boost": "boost-context", "Eigen3": "eigen3", "hwy": "highway", "fmt": "fmt", "nlohmann_json": "nlohmann-json",
         "tomlplusplus": "tomlplusplus", "dlpack": "dlpack", "rapidcheck": "rapidcheck", "CLI11": "cli11", "MPFI": None}
required = re.findall(r"^find_package\((\w+)[^)]* REQUIRED", open(sys.argv[3]).read(), re.MULTILINE)
assert len(required) >= 10, required
for library in required:
    assert library in ports, f"{library} has no port here"
    assert ports[library] in [*names, None], f"{ports[library]} is missing"
END

# vcpkg has Eigen 5, whose version file takes a request for no other major version. Its headers are not asked for here.
mkdir "$work/eigen"
cat >"$work/eigen/Eigen3ConfigVersion.cmake" <<'END'
set(PACKAGE_VERSION 5.0.1)
if(PACKAGE_FIND_VERSION STREQUAL "" OR PACKAGE_FIND_VERSION_MAJOR EQUAL 5)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
END
echo 'add_library(Eigen3::Eigen INTERFACE IMPORTED)' >"$work/eigen/Eigen3Config.cmake"

# vcpkg's functions, as far as a portfile uses them: what it would configure is configured, with the system's libraries.
cat >"$work/vcpkg.cmake" <<'END'
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${arg_SOURCE_PATH} -B ${BUILD} -DEigen3_DIR=${EIGEN} ${arg_OPTIONS} ERROR_VARIABLE said
    OUTPUT_QUIET RESULT_VARIABLE failed)
  if(failed OR said MATCHES "not used")
    message(FATAL_ERROR "${said}")
  endif()
endfunction()
foreach(name cmake_install cmake_config_fixup fixup_pkgconfig copy_tools install_copyright)
  function(vcpkg_${name})
    file(APPEND ${BUILD}/called "${CMAKE_CURRENT_FUNCTION} ${ARGN}\n")
  endfunction()
endforeach()
include(${CURRENT_PORT_DIR}/portfile.cmake)
END
"$cmake" -DCURRENT_PORT_DIR="$PWD/packaging/vcpkg" -DCURRENT_PACKAGES_DIR="$work/packages" -DBUILD="$work/build" -DEIGEN="$work/eigen" -P "$work/vcpkg.cmake" >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "the portfile configures nothing"; }
grep -qx "Eigen3_DIR:[A-Z]*=$work/eigen" "$work/build/CMakeCache.txt" || fail "Eigen 5 is passed over for the system's"
grep -q 'SOFTCHECK_BUILD_TESTS:BOOL=OFF' "$work/build/CMakeCache.txt" || fail "the port builds tests"
[ "$(wc -l <"$work/build/called")" = 5 ] || fail "the portfile calls $(cat "$work/build/called")"
usage=$work/packages/share/softcheck/usage
[ -f "$usage" ] || fail "the port installs no usage: vcpkg would make one up"
for target in $(grep -o 'softcheck::[a-z_]*' "$usage"); do
  grep -rqE "softcheck_library\(${target#*::}\$|add_library\($target ALIAS" --include=CMakeLists.txt . || fail "the usage names $target, which no CMakeLists.txt makes"
done
grep -o '[a-z_/]*\.hp*\>' "$usage" | while read -r header; do
  [ -f "$header" ] || [ -f "library/include/$header" ] || fail "the usage names $header, which is not there"
done
licence=$(sed -n 's/^vcpkg_install_copyright FILE_LIST;*//p' "$work/build/called" | tr ';' '\n' | tail -n 1)
echo "the port configures ($licence)"

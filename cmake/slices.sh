#!/bin/sh
# What `./run test` leaves out, in slices that CI takes in turn after it, one for each commit.
#   slices.sh list             K/N NAME of each slice
#   slices.sh name K/N         the name, or one line of what is wrong and exit 2
#   slices.sh run K/N SECONDS  does it. Exit 0: all that ran passed, though time may have cut it; else a check failed
# `./run test --slice` calls it from the checkout's root, in a configured build/release.
set -eu
name=${0##*/}
areas='numerics theory kernels emulator models experiments campaigns judge'

# A slice in a line: a function of this file and its arguments.
slices() {
  for part in 1 2 3 4 5 6 7 8 9 10; do echo "alone $part/10"; done
  for sanitizer in address undefined; do
    for area in $areas; do echo "sanitized $sanitizer $area"; done
  done
  for area in $areas; do echo "clang $area"; done
  echo "aarch64_verify"
  echo "aarch64_wheel"
  for area in numerics theory kernels models; do echo "aarch64_tests $area"; done
  for part in 1 2 3 4; do echo "labelled_deep $part/4"; done
  for part in 1 2 3 4; do echo "deep_zoo $part/4"; done
  for part in 1 2 3 4; do echo "deep_proofs $part/4"; done
  echo "deep_packages"
  echo "additions"
  echo "deep_clang"
  echo "benchmarks"
  for part in 1 2 3 4 5 6 7 8; do echo "seeded_faults $part/8"; done
  for part in 1 2 3 4; do echo "deep_others $part/4"; done
}

# The tests of one area's program, from a build folder of its own that holds no other.
area_tests() { # PRESET AREA [DEFINITION...]
  preset=$1 area=$2
  shift 2
  folder=build/slices/$preset-$area
  cmake --preset "$preset" -B "$folder" -DSOFTCHECK_UNITY=12 -DSOFTCHECK_BUILD_BENCHMARKS=OFF "$@"
  cmake --build "$folder" --target "test_$area"
  ctest --test-dir "$folder" --output-on-failure --timeout 300 --parallel "$(nproc)" --no-tests=error --label-regex '^(fast|full)$' \
    --exclude-regex '_NOT_BUILT$|^(Build|Emulator|Kernels|Planted|Proofs|Strict|Training|Zoo|ZooMatrix)\.'
}

# -O1 takes g++ half of the time that -O3 takes it, and debug information a quarter.
sanitized() { area_tests asan "$2" "-DSOFTCHECK_SANITIZE=$1" '-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1'; }
clang() { area_tests clang "$1"; }
aarch64_verify() { ./run aarch64 verify; }
aarch64_wheel() { ./run wheel aarch64 && sh proptests/tests/build/aarch64_wheel.sh; }
aarch64_tests() { SOFTCHECK_TARGET=test_$1 ./run aarch64 test; }

# ./run compiles several sources as one: here each is seen to compile alone.
alone() { # K/N: every N-th source
  folder=build/slices/alone
  mkdir -p $folder
  cmake --preset release -B $folder -DSOFTCHECK_UNITY=0 -DCMAKE_CXX_FLAGS_RELEASE=-O0
  ninja -C $folder -t targets all | sed -n 's/^\(.*\.o\): CXX_COMPILER.*/\1/p' | LC_ALL=C sort |
    awk -v part="${1%/*}" -v parts="${1#*/}" 'NR % parts == part % parts' >$folder/objects
  [ -s $folder/objects ] || { echo "no source in part $1"; return 1; }
  xargs ninja -C $folder <$folder/objects
}
additions() { ctest --preset release --timeout 3600 --no-tests=error --tests-regex '^Build\.AdditionsAreJudged$'; }
benchmarks() { cmake --build --preset release --target benchmarks; }

# K/N of the tests of build/release, every N-th of them, with the program that they need.
part_of() { # K/N ARGUMENTS OF CTEST...
  part=${1%/*} parts=${1#*/}
  shift
  cmake --build --preset release
  ctest --preset release --parallel "$(nproc)" --timeout 3600 --no-tests=error --tests-information "$part,,$parts" "$@"
}
deep_part_of() { SOFTCHECK_EFFORT=deep && export SOFTCHECK_EFFORT && part_of "$@"; }
labelled_deep() { part_of "$1" --label-regex '^deep$' --exclude-regex '^Build\.'; }
deep_zoo() { deep_part_of "$1" --tests-regex '^Zoo\.'; }
deep_proofs() { deep_part_of "$1" --tests-regex '^Proofs\.'; }
deep_others() { deep_part_of "$1" --exclude-regex '^(Zoo|Planted|Proofs|Build)\.'; }
# Of each table every N-th row: a table is one test.
seeded_faults() { SOFTCHECK_PLANTED_PART=$1 && export SOFTCHECK_PLANTED_PART && deep_part_of 1/1 --verbose --tests-regex '^Planted\.'; }
deep_packages() { deep_part_of 1/1 --tests-regex '^Build\.(ConanMakesAPackage|AnEmptyDebian|PackagesServe|WheelWorks)'; }
deep_clang() { deep_part_of 1/1 --tests-regex '^Build\.Clang'; }

named() { # K/N: the line of the slice
  count=$(slices | wc -l)
  case ${1%/*} in
    '' | 0* | *[!0-9]*) ;;
    *) if [ "${1#*/}" = "$count" ] && [ "${#1}" -lt 9 ] && [ "${1%/*}" -le "$count" ]; then slices | sed -n "${1%/*}p"; return; fi ;;
  esac
  echo "run: test --slice: need K/$count with K from 1 to $count, got '$1' (./run test --slices lists them)" >&2
  return 2
}

# A check that has failed by the time that the slice is cut.
failed_in() { grep -E '\*\*\*(Failed|Timeout|Exception|Not Run)|^([0-9]+: )?(SURVIVED|BROKEN|STALE) ' "$1"; }

run_slice() { # K/N SECONDS
  slice=$(named "$1")
  [ "$2" -gt 0 ] || { echo "slice $1: $slice: no time left"; return 0; }
  echo "slice $1: $slice, at most $2 s"
  mkdir -p build
  log=build/slice.log
  {
    # shellcheck disable=SC2086 # a function and its arguments
    timeout -k 30 "$2" sh "$0" only $slice && status=0 || status=$?
    echo "$status" >build/slice.exit
  } 2>&1 | tee $log
  status=$(cat build/slice.exit)
  case $status in
    0) echo "slice $1: $slice: passed" ;;
    124 | 137)
      if failed_in $log; then echo "slice $1: $slice: failed before its time was up"; return 1; fi
      echo "slice $1: $slice: cut after $2 s, what ran until then passed"
      ;;
    *) echo "slice $1: $slice: FAILED, exit status $status"; return 1 ;;
  esac
}

task=${1:-}
[ $# = 0 ] || shift
case $task in
  list)
    count=$(slices | wc -l)
    slices | awk -v count="$count" '{ print NR "/" count " " $0 }'
    ;;
  name) named "$1" ;;
  run) run_slice "$@" ;;
  only) "$@" ;;
  *) echo "usage: $name list | name K/N | run K/N SECONDS" >&2; exit 2 ;;
esac

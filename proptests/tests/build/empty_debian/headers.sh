#!/bin/sh
# headers.sh SOURCES: the headers of others that our sources include, those of benchmarks, of compilers and of processors aside,
# compile one after the other.
set -eu
cd "$1"
includes=$(mktemp --suffix=.cpp)
trap 'rm -f "$includes"' EXIT
grep -rhoE '^ *# *include <[A-Za-z0-9_+./-]+\.(h|hpp)>' numerics theory kernels models experiments judge proptests library cli \
  --include='*.cpp' --include='*.hpp' --include='*.inl' | sort -u |
  grep -vE '<(benchmark/|cooperative_groups|cuda|mma\.|nv|softcheck/|sanitizer/|hwy/foreach_target|hwy/contrib|hwy/highway|immintrin|xmmintrin)' >"$includes"
[ "$(wc -l <"$includes")" -gt 20 ] || { echo "the sources include nothing"; exit 1; }
# Highway's are read once an instruction set: one will do.
echo '#include <hwy/highway.h>' >>"$includes"
g++ -std=gnu++20 -fsyntax-only -DHWY_COMPILE_ONLY_STATIC -I . -I "${EIGEN:-/usr/include/eigen3}" "$includes"

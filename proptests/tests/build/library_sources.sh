#!/bin/sh
# The sources that clang-tidy reads: the libraries and programs, no tests, benchmarks or planted bugs.
set -eu
for folder in numerics theory library cli judge proptests models experiments kernels/emulator; do git ls-files "$folder/*.cpp"; done |
  grep -v -e /tests/ -e /bench/ -e /mutants/ -e /examples/

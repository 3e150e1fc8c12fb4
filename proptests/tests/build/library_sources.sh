#!/bin/sh
# The sources that clang-tidy reads: the libraries and programs, no tests, benchmarks or planted bugs.
set -eu
git ls-files 'numerics/*.cpp' 'theory/*.cpp' 'cli/*.cpp' 'proptests/*.cpp' 'experiments/*.cpp' 'kernels/emulator/*.cpp' |
  grep -v -e /tests/ -e /bench/ -e /mutants/

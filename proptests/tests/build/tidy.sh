#!/bin/sh
# clang-tidy with the checks of .clang-tidy over the libraries and the command.
set -eu
build=$1
command -v clang-tidy >/dev/null 2>&1 || { echo "Skipped: no clang-tidy"; exit 77; }
git ls-files 'numerics/*.cpp' 'theory/*.cpp' 'cli/*.cpp' 'proptests/*.cpp' |
  grep -v -e /tests/ -e /bench/ -e /mutants/ |
  xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet 2>/dev/null

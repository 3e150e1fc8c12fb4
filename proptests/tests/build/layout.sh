#!/bin/sh
# Every tracked source is laid out as clang-format would.
set -eu
command -v clang-format >/dev/null 2>&1 || { echo "Skipped: no clang-format"; exit 77; }
git rev-parse --git-dir >/dev/null 2>&1 || { echo "Skipped: not a git checkout"; exit 77; }
git ls-files -z '*.hpp' '*.cpp' '*.h' '*.c' '*.cu' '*.cuh' | xargs -0 clang-format --dry-run -Werror

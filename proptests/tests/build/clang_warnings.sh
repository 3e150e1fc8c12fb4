#!/bin/sh
# clang reads every source of this build with the same flags; a warning is an error.
set -eu
build=$1
command -v clang++ >/dev/null 2>&1 || { echo "Skipped: no clang++"; exit 77; }
sh "$(dirname "$0")/each_source.sh" "$build" clang

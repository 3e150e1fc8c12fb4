#!/bin/sh
# clang-tidy with the checks of .clang-tidy, and clang's own warnings, over the libraries and the command.
set -eu
build=$1
here=$(dirname "$0")
command -v clang-tidy >/dev/null 2>&1 || { echo "Skipped: no clang-tidy"; exit 77; }
git rev-parse --git-dir >/dev/null 2>&1 || { echo "Skipped: not a git checkout"; exit 77; }
sh "$here/library_sources.sh" |
  xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option

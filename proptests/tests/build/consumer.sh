#!/bin/sh
# Installs softcheck into an empty prefix and builds a stranger's project against it.
set -eu
cmake=$1 build=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$cmake" -S "$(dirname "$0")/consumer" -B "$work/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix" "-DCMAKE_CXX_FLAGS=${CXXFLAGS:-}"
"$cmake" --build "$work/consumer"
"$work/consumer/consumer"

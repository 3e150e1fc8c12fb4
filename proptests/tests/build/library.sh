#!/bin/sh
# libsoftcheck as other programs get it: installed, found by pkg-config, used by programs in C and C++.
set -eu
cmake=$1 build=$2
command -v pkg-config >/dev/null 2>&1 || { echo "skipped: no pkg-config"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
library=$(find "$work/prefix" -name libsoftcheck.so)
folder=$(dirname "$library")
export PKG_CONFIG_PATH="$folder/pkgconfig" LD_LIBRARY_PATH="$folder"
flags="-Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags softcheck)"
# shellcheck disable=SC2086 # lists of words
for language in 'c -std=c11' 'c++ -std=c++11' 'c++ -std=c++20'; do
  echo '#include <softcheck/softcheck.h>' | ${CC:-cc} -x $language $flags -fsyntax-only -
done
for example in judge gradient cross_entropy topk_softmax attention_backward; do
  # shellcheck disable=SC2086
  ${CC:-cc} -std=c11 $flags library/examples/$example.c -o "$work/$example" $(pkg-config --libs softcheck) -lm
  "$work/$example" >"$work/out" || { cat "$work/out"; exit 1; }
  grep -qx pass "$work/out"
done
# shellcheck disable=SC2086
${CXX:-c++} -std=c++20 $flags library/examples/tensors.cpp -o "$work/tensors" $(pkg-config --libs softcheck)
"$work/tensors" >"$work/out" || { cat "$work/out"; exit 1; }
grep -q '"verdict":"pass"' "$work/out"
status=0
"$work/tensors" wrong >"$work/out" || status=$?
[ $status = 1 ] || { echo "a wrong probability: status $status"; exit 1; }
grep -q '"item":2' "$work/out"
foreign=$(nm -D --defined-only "$library" | awk '$2 ~ /[TBDRVW]/ && $3 !~ /^softcheck_/ { print $3 }')
[ -z "$foreign" ] || { echo "symbols that are none of the header's: $foreign"; exit 1; }
# Every function of the header is there, and bears the version.
for name in $(grep -o 'softcheck_[a-z_]*(' library/include/softcheck/softcheck.h | tr -d '(' | sort -u); do
  case $name in softcheck_function) continue ;; esac
  nm -D --defined-only "$library" | grep -q " $name@@SOFTCHECK_[123]$" || { echo "not exported: $name"; exit 1; }
done

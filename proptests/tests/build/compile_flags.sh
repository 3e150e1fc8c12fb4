#!/bin/sh
# What a build compiles, a source a line: clang or clang++, its flags, a tab and the source. Sources that the build
# compiles as one (SOFTCHECK_UNITY) have a line each; those of planted bugs are always compiled so and stay one. Clang
# passes over what only g++ knows.
set -eu
sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$1/compile_commands.json" |
  sed -e 's/\\"/"/g' -e 's/\\\\/\\/g' |
  awk '{
    start = $1 ~ /ccache$/ ? 2 : 1
    line = ($start ~ /(\+\+|cpp)[^\/]*$/ ? "clang++" : "clang") " -Wno-unknown-warning-option"
    for (i = start + 1; i < NF; i++) {
      if ($i == "-o") i++
      else if ($i != "-c") line = line " " $i
    }
    if ($NF !~ /\/Unity\/unity_/ || $NF ~ /softcheck_mutants\.dir/) print line "\t" $NF
    else while ((getline source < $NF) > 0) if (source ~ /^#include "/) print line "\t" substr(source, 11, length(source) - 11)
  }'

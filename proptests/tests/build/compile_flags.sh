#!/bin/sh
# compile_flags.sh BUILD [each]: what a build compiles, a source a line: clang or clang++, its flags, a tab and the source.
# What CMake makes of several sources (SOFTCHECK_UNITY) is one; with "each", those are a line each, but for planted bugs.
# Clang passes over what only g++ knows.
set -eu
sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$1/compile_commands.json" |
  sed -e 's/\\"/"/g' -e 's/\\\\/\\/g' |
  awk -v each="${2:-}" '{
    start = $1 ~ /ccache$/ ? 2 : 1
    line = ($start ~ /(\+\+|cpp)[^\/]*$/ ? "clang++" : "clang") " -Wno-unknown-warning-option"
    for (i = start + 1; i < NF; i++) {
      if ($i == "-o") i++
      else if ($i != "-c" && $i !~ /^--param=ggc-/) line = line " " $i
    }
    if (each == "" || $NF !~ /\/Unity\/unity_/ || $NF ~ /softcheck_zoo\.dir/) print line "\t" $NF
    else while ((getline source < $NF) > 0) if (source ~ /^#include "/) print line "\t" substr(source, 11, length(source) - 11)
  }'

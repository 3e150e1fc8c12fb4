#!/bin/sh
# What a build compiles, a source a line: clang or clang++, its flags, a tab and the source. What only g++ knows, clang
# is told to pass over.
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
    print line "\t" $NF
  }'

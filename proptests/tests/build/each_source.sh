#!/bin/sh
# each_source.sh BUILD clang: replays the compile commands of BUILD as clang -fsyntax-only, on all cores.
set -eu
build=$1
commands=$(mktemp)
trap 'rm -f "$commands"' EXIT
# One command a line: drop the compiler, the output and what only g++ knows.
sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" |
  sed -e 's/\\"/"/g' -e 's/\\\\/\\/g' |
  awk '{
    start = 1
    while (start < NF && $start ~ /ccache$/) start++
    compiler = ($start ~ /(\+\+|cpp)[^\/]*$/) ? "clang++" : "clang"
    line = compiler " -fsyntax-only -Wno-unknown-warning-option -Wno-unused-command-line-argument"
    for (i = start + 1; i <= NF; i++) {
      if ($i == "-o") { i++; continue }
      if ($i == "-c") continue
      line = line " " $i
    }
    print line
  }' >"$commands"
count=$(wc -l <"$commands")
[ "$count" -gt 0 ] || { echo "no compile commands in $build"; exit 1; }
tr '\n' '\0' <"$commands" | (cd "$build" && xargs -0 -P "$(nproc)" -n 1 sh -c)
echo "$count sources, no warning"

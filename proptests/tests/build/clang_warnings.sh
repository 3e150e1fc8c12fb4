#!/bin/sh
# clang reads every source of this build with the same flags; a warning is an error. What clang-tidy reads, where it is
# installed, has clang's warnings there (Build.ClangTidyFindsNothing) and is not read twice.
set -eu
build=$1
here=$(dirname "$0")
command -v clang++ >/dev/null 2>&1 || { echo "Skipped: no clang++"; exit 77; }
commands=$(mktemp)
covered=$(mktemp)
trap 'rm -f "$commands" "$covered"' EXIT
if command -v clang-tidy >/dev/null 2>&1 && git rev-parse --git-dir >/dev/null 2>&1; then
  sh "$here/library_sources.sh" | sed "s|^|$PWD/|" >"$covered"
fi
# One command a line: clang in place of the compiler, no output, and without what only g++ knows.
sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" |
  sed -e 's/\\"/"/g' -e 's/\\\\/\\/g' |
  awk -v covered="$covered" '
    BEGIN { while ((getline line < covered) > 0) skip[line] = 1 }
    {
      if ($NF in skip) next
      start = $1 ~ /ccache$/ ? 2 : 1
      line = ($start ~ /(\+\+|cpp)[^\/]*$/ ? "clang++" : "clang") " -fsyntax-only -Wno-unknown-warning-option"
      for (i = start + 1; i <= NF; i++) {
        if ($i == "-o") i++
        else if ($i != "-c") line = line " " $i
      }
      print line
    }' >"$commands"
count=$(wc -l <"$commands")
[ "$count" -gt 0 ] || { echo "no compile commands in $build"; exit 1; }
tr '\n' '\0' <"$commands" | (cd "$build" && xargs -0 -P "$(nproc)" -n 1 sh -c)
echo "$count sources, no warning"

#!/bin/sh
# Doxygen reads the headers without a warning, and has a page for each door of docs/api/index.md.
set -eu
build=$1
command -v doxygen >/dev/null 2>&1 || { echo "Skipped: no doxygen"; exit 77; }
work=$(mktemp -d "$build/pages.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/docs"
make_pages() { # more lines of a Doxyfile
  { sed "s|^OUTPUT_DIRECTORY .*|OUTPUT_DIRECTORY = $work|" docs/api/Doxyfile; echo "$1"; } >"$work/Doxyfile"
  SOFTCHECK_VERSION=test doxygen "$work/Doxyfile" >"$work/log" 2>&1
}
make_pages '' || { cat "$work/log"; exit 1; }
for page in softcheck_8h structsoftcheck__options softcheck__kernel_8h classsoftcheck_1_1numerics_1_1RowOracle namespacesoftcheck_1_1theory; do
  [ -e "$work/docs/api/$page.html" ] || { echo "no page $page.html"; exit 1; }
done
grep -q 'Frees a report' "$work/docs/api/softcheck_8h.html" || { echo "a comment in C is not on its page"; exit 1; }
grep -q '<li>.*theta.*gt; 0, finite' "$work/docs/api/classsoftcheck_1_1numerics_1_1RowOracle.html" ||
  { echo "an argument's line is not on its page"; exit 1; }

# A comment that Doxygen cannot read must be refused.
printf '#pragma once\n/// \\nosuchcommand\nint planted();\n' >"$work/planted.hpp"
if make_pages "INPUT += $work/planted.hpp"; then echo "an unknown command was not refused"; exit 1; fi
grep -q nosuchcommand "$work/log" || { cat "$work/log"; exit 1; }

#!/bin/sh
# Every verb has the options that options.txt lists, with their types, ranges and defaults: none is lost or changed unseen.
#   options.sh SOFTCHECK            compares
#   options.sh SOFTCHECK --write    writes the list anew, to be read in the diff
set -eu
softcheck=$1
list=$(dirname "$0")/options.txt
found=$(mktemp)
trap 'rm -f "$found"' EXIT

subcommands() { "$softcheck" "$@" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z0-9-]*\).*/\1/p'; }

# What stands left of each explanation: 30 columns, or a line of its own where it is longer.
options() {
  "$softcheck" "$@" --help | sed -n '/^Options:/,/^$/p' | awk -v verb="$*" '
    /^  -/ { show(); left = $0; width = 30; next }
    /^                              / { width = length(left) }
    function show() { if (left != "") { left = substr(left, 3, width - 2); sub(/ +$/, "", left); print verb ": " left } }
    END { show() }'
}

for verb in $(subcommands); do
  options "$verb"
  for below in $(subcommands "$verb"); do options "$verb" "$below"; done
done >"$found"
if [ "${2:-}" = --write ]; then
  cp "$found" "$list"
elif ! diff -u "$list" "$found"; then
  echo "the options of a verb have changed: if they are meant to, write them by proptests/tests/build/options.sh SOFTCHECK --write" >&2
  exit 1
fi

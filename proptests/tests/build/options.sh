#!/bin/sh
# Every verb has the options that options.txt lists, with their types, ranges and defaults: none is lost or changed unseen.
# An option whose value is a word of a list names itself and what it got where the word is not in the list.
#   options.sh SOFTCHECK            compares
#   options.sh SOFTCHECK --write    writes the list anew, to be read in the diff
set -eu
softcheck=$1
list=$(dirname "$0")/options.txt
. "$(dirname "$0")/file_bytes.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
found=$scratch/found

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
[ "${2:-}" != --write ] || exit 0
npy "$scratch/x.npy" '<f4' '(1, 1)' 1 '\000\000\200\077'
sed -nE 's/^(.*): (--[a-z-]+) (TEXT|WORDS|CLAIM|OP|DTYPE|LIST)(=.*)?$/\1:\2/p' "$list" | while IFS=: read -r verb flag; do
  case $verb in
    kernel) needed=libmine.so:my_softmax ;;
    check) needed="--logits $scratch/x.npy --output $scratch/x.npy" ;;
    run*) needed="--out $scratch/out" ;;
    *) needed='' ;;
  esac
  # shellcheck disable=SC2086 # lists of words
  said=$("$softcheck" $verb $needed "$flag" nope 2>&1) && code=0 || code=$?
  case $code,$said in
    2,"softcheck: $flag: "*"'nope'"*) ;;
    *) echo "$verb $flag nope: expected exit 2 and 'softcheck: $flag: ...' with what it got, not $code and: $said" >&2; exit 1 ;;
  esac
done

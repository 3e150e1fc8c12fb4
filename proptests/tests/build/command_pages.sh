#!/bin/sh
# command_pages.sh SOFTCHECK: the page for man and bash's completions that ./run package makes have every option of
# options.txt under its verb, man warns of nothing, and what bash completes is what the verb takes.
set -eu
cd "$(dirname "$0")/../../.."
softcheck=$1
list=proptests/tests/build/options.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "command_pages: $*"; exit 1; }
sh cmake/command_pages.sh "$softcheck" "$work" 2026-01-02

# "kernel --op", a line for each option of a verb, from the page; "kernel -h" is said once, of all.
page_options() {
  sed 's/\\-/-/g; s/^\.B "\(.*\)"$/.B \1/' "$1" | awk '
    /^\.SS "softcheck / { verb = $3; if ($4 ~ /^[a-z]/ && $5 ~ /^\[/) verb = verb " " $4; next }
    /^\.SH/ { verb = "" }
    /^\.B -/ && verb != "" { count = split($2, option, ","); for (i = 1; i <= count; ++i) print verb " " option[i] }' | sort
}
completed_options() {
  sed -n 's/^    "\([a-z][a-z0-9 -]*\) -"\*) words="\(.*\)" ;;$/\1:\2/p' "$1" | awk -F : '
    { count = split($2, option, " "); for (i = 1; i <= count; ++i) if (option[i] !~ /^(-h|--help)$/) print $1 " " option[i] }' | sort
}
awk -F ': ' '{ split($2, word, " "); count = split(word[1], option, ",")
  for (i = 1; i <= count; ++i) if (option[i] !~ /^(-h|--help)$/) print $1 " " option[i] }' $list | sort >"$work/options"
[ "$(wc -l <"$work/options")" -ge 100 ] || fail "$list has only $(wc -l <"$work/options") options"
page_has_all() { page_options "$1" | diff "$work/options" - >"$work/differences"; }
completions_have_all() { completed_options "$1" | diff "$work/options" - >"$work/differences"; }
page_has_all "$work/softcheck.1" || { cat "$work/differences"; fail "the page has other options"; }
completions_have_all "$work/softcheck" || { cat "$work/differences"; fail "bash completes other options"; }
# Controls: a page and completions without one option.
sed '/^\.B "\\-\\-exempt/d' "$work/softcheck.1" >"$work/less.1"
if page_has_all "$work/less.1"; then fail "an option that the page lacks is not missed"; fi
sed 's/ --exempt / /' "$work/softcheck" >"$work/less"
if completions_have_all "$work/less"; then fail "an option that bash does not complete is not missed"; fi

head -n 1 "$work/softcheck.1" | grep -q '^\.TH SOFTCHECK 1 2026-01-02 "softcheck [0-9.]*" "User Commands"$' || fail "the page begins $(head -n 1 "$work/softcheck.1")"
[ "$(sed -n '/^\.SH EXIT STATUS/,/^\.PP/s/^\.B \([0-7]\)$/\1/p' "$work/softcheck.1" | tr -d '\n')" = 01234567 ] || fail "the page lacks an exit status"
if command -v man >/dev/null 2>&1 && command -v groff >/dev/null 2>&1; then
  warned=$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -E UTF-8 -l "$work/softcheck.1" 2>&1 >"$work/shown") || fail "man: $warned"
  [ -z "$warned" ] || fail "man: $warned"
  grep -q -- '--contract WORDS' "$work/shown" || fail "man shows no --contract"
fi

command -v bash >/dev/null 2>&1 || { echo "the page is right; Skipped: no bash for its completions"; exit 77; }
completes() { # EXPECTED WORD...: the last word is the one to be completed
  expected=$1
  shift
  found=$(bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _softcheck; echo "${COMPREPLY[*]}"' - "$work/softcheck" softcheck "$@")
  [ "$found" = "$expected" ] || fail "after '$*' bash offers '$found', not '$expected'"
}
completes 'test kernel check model verify campaign run report version' ''
completes 'verify version' ve
completes '--require --resume --replay' kernel libmine.so:f --re
dtypes=$(sed -n 's/^ *describe("\([a-z0-9]*\)".*/\1/p' numerics/formats/format.cpp | paste -sd ' ')
completes "$dtypes" kernel libmine.so:f --dtype ''
completes 'top_p_softmax' check --op top_
completes 'train train-language' run tr
completes '--decay --decay-biases' run train --dec
completes '' run train --out ''
completes '' kernel ''
completes '' unknown -
echo "the page and the completions have $(wc -l <"$work/options") options"

#!/bin/sh
# command_pages.sh SOFTCHECK FOLDER DATE: what a package has for the command beside itself, made from its own --help, so that no
# option is told twice: FOLDER/softcheck.1, its page for man, and FOLDER/softcheck, bash's completions of it.
#   DATE   the page's, YYYY-MM-DD
set -eu
softcheck=$1 folder=$2 date=$3
here=$(dirname "$0")
export LC_ALL=C # awk counts bytes, and help is ASCII
below() { "$softcheck" "$@" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z0-9-]*\).*/\1/p'; }

mkdir -p "$folder"
help=$(mktemp)
trap 'rm -f "$help"' EXIT
one() { echo "@verb $*" && "$softcheck" "$@" --help; }
{
  one
  for verb in $(below); do
    one "$verb"
    for name in $(below "$verb"); do one "$verb" "$name"; done
  done
} >"$help"
version=$("$softcheck" version | sed -n '1s/^softcheck \([0-9.]*\).*/\1/p')
awk -v date="$date" -v version="$version" -f "$here/man_page.awk" "$help" >"$folder/softcheck.1"
awk -f "$here/completions.awk" "$help" >"$folder/softcheck"

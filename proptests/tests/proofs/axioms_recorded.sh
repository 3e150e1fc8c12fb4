#!/bin/sh
# axioms_recorded.sh PROOFS BUILD [--write]: theory/proofs/axioms.tsv has a row for each file with a theorem, and no other; with
# SOFTCHECK_EFFORT=deep its marks are those of the build. It is what the page of theorems knows of them (theorems_page.sh).
set -eu
here=$(dirname "$0")
proofs=$1 build=$2
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -v '^#' "$proofs/axioms.tsv" >"$work/recorded"
if [ -n "${3:-}" ] || [ "${SOFTCHECK_EFFORT:-}" = deep ]; then
  sh "$here/axioms.sh" "$proofs" "$build" ${3:+each} | awk -v OFS='\t' '
    { sub(/^softcheck\./, ""); files[$1] }
    $2 != "-" { has[$1, $2 ~ /Classical_Prop/ ? "C" : $2 ~ /IndefiniteDescription/ ? "I" : $2 ~ /Reals|Extensionality/ ? "R" : "?"] = 1 }
    END {
      for (file in files) {
        marks = ""
        for (i = 1; i <= 4; i++) if ((file, mark = substr("RCI?", i, 1)) in has) marks = marks mark
        print file, marks == "" ? "-" : marks
      }
    }' | LC_ALL=C sort >"$work/built"
else
  sh "$here/theorems.sh" "$proofs" | sed 's/^softcheck\.//; s/\.[^.]*$//' | LC_ALL=C sort -u >"$work/built"
  cut -f 1 "$work/recorded" >"$work/names" && mv "$work/names" "$work/recorded"
fi
if [ -n "${3:-}" ]; then
  grep '^#' "$proofs/axioms.tsv" | cat - "$work/built" >"$proofs/axioms.tsv.new" && mv "$proofs/axioms.tsv.new" "$proofs/axioms.tsv"
  exit 0
fi
diff "$work/recorded" "$work/built" || { echo "axioms.tsv is out of date: sh $0 $proofs $build --write"; exit 1; }
echo "$(wc -l <"$work/built") files, $(sh "$here/theorems_page.sh" "$proofs" | grep -c '^| ') rows on the page"

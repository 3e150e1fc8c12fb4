#!/bin/sh
# gappa.sh PROOFS BUILD: Coq accepts the rounding errors that Gappa finds (PROOFS/numerics/gappa/bounds.tsv) as theorems on the
# axioms of the reals. Only what changed is compiled again. The exponentials in binary64, which take the longest, are proved
# to 1.49 u in certified/ as well: Coq reads what Gappa finds of them with SOFTCHECK_EFFORT=deep.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
proofs=$(cd "$1" && pwd) built=$2-gappa
command -v gappa >/dev/null 2>&1 || { echo "Skipped: no gappa"; exit 77; }
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
[ -d "$(coqc -where)/user-contrib/Gappa" ] || { echo "Skipped: no Coq library Gappa"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$proofs/numerics/gappa/generate.sh" "$work"
left=
if [ "${SOFTCHECK_EFFORT:-}" != deep ]; then
  left=$(cd "$work" && ls cpu_binary64_exponential*.v filter_exponential*.v)
  (cd "$work" && echo "$left" | xargs rm)
fi
mkdir -p "$built/numerics/gappa"
cd "$built"
for file in numerics/gappa/*.v; do
  [ -f "$work/$(basename "$file")" ] || rm -f "${file%.v}".*
done
for file in "$work"/*.v; do
  name=numerics/gappa/$(basename "$file" .v)
  cmp -s "$file" "$name.v" || { rm -f "$name.vo"; cp "$file" "$name.v"; }
  [ -f "$name.vo" ] || echo "$name.v"
done | xargs -P "$(nproc)" -n 1 coqc -q -Q . softcheck
sh "$here/assumptions.sh" "$built" "$built" together
for file in "$work"/*.v; do
  name=$(basename "$file" .v)
  printf '%s: %s\n' "$name" "$(grep '^{' "$work/$name.g")"
done
[ -z "$left" ] || echo "proved by Gappa, read by Coq with SOFTCHECK_EFFORT=deep:" $left

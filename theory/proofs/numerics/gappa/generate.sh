#!/bin/sh
# Writes the Coq proofs of the bounds of bounds.tsv: generate.sh OUTPUT_FOLDER
# OUTPUT_FOLDER/NAME.g is its source with the format and the bound of its row, for NAME_fma with fused multiply-adds;
# OUTPUT_FOLDER/NAME.v ends with Theorem NAME: the hypothesis on the input implies the bound that NAME.g states.
# A bound that Gappa cannot prove ends it, or keeps it for ever: hence the time limit.
# Each proof is only as good as coqc's acceptance of it: compile them with -Q OUTPUT_FOLDER softcheck.numerics.gappa.
set -eu
[ $# -eq 1 ] || { echo "generate.sh: need one folder to write to, got $# arguments" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
tab=$(printf '\t')
grep -v '^#' "$here/bounds.tsv" | while IFS=$tab read -r source name format pieces apart fused; do
  sed "s/FORMAT/$format/; s/PIECES/$pieces/; s/BOUND/$apart/" "$here/$source.g" >"$1/$name.g"
  sed "s/FORMAT/$format/; s/PIECES/$pieces/; s/BOUND/$fused/; s/rnd(rnd(\([^()]*\)) + /rnd(\1 + /" "$here/$source.g" >"$1/${name}_fma.g"
done
for source in "$1"/*.g; do
  name=$(basename "$source" .g)
  timeout 60 gappa -Bcoq "$source" > "$1/$name.v.part" ||
    { echo "generate.sh: gappa does not prove $name.g" >&2; exit 1; }
  {
    echo "From Coq Require Import Classical_Prop."
    sed '/^End Generated_by_Gappa\.$/i\
Theorem '"$name"' : p1 -> p2.\
Proof. intros input. apply NNPP. intros beyond. exact (l1 (conj input beyond)). Qed.' "$1/$name.v.part"
  } > "$1/$name.v"
  rm "$1/$name.v.part"
done

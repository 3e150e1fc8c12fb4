#!/bin/sh
# Writes the Coq proof of every .g file beside this script: generate.sh OUTPUT_FOLDER
# OUTPUT_FOLDER/NAME.v ends with Theorem NAME: the hypothesis on the input implies the bound that NAME.g states.
# Each proof is only as good as coqc's acceptance of it: compile them with -Q OUTPUT_FOLDER softcheck.numerics.gappa.
set -eu
[ $# -eq 1 ] || { echo "generate.sh: need one folder to write to, got $# arguments" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
for source in "$here"/*.g; do
  name=$(basename "$source" .g)
  {
    echo "From Coq Require Import Classical_Prop."
    gappa -Bcoq "$source" | sed '/^End Generated_by_Gappa\.$/i\
Theorem '"$name"' : p1 -> p2.\
Proof. intros input. apply NNPP. intros beyond. exact (l1 (conj input beyond)). Qed.'
  } > "$1/$name.v.part"
  mv "$1/$name.v.part" "$1/$name.v"
done

#!/bin/sh
# oracle.sh PROOFS BUILD: the extracted oracle as a program, BUILD/verified_oracle.
set -eu
proofs=$1 build=$2
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
ocamlfind query zarith >/dev/null 2>&1 || { echo "Skipped: no ocamlfind with zarith"; exit 77; }
cp "$proofs/oracle/verified_oracle.ml" "$build/"
cd "$build"
# The extracted module is Coq's style, not ours: its warnings say nothing.
ocamlfind ocamlopt -w -a -package zarith -linkpkg interval_oracle.mli interval_oracle.ml verified_oracle.ml -o verified_oracle.new
mv verified_oracle.new verified_oracle
echo "80 0x1p0 0x0p0" | ./verified_oracle

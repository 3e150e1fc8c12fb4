#!/bin/sh
# build.sh PROOFS BUILD: compiles the proofs that sources.sh lists, outside the source tree; only what changed is compiled again.
set -eu
proofs=$1 build=$2
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
for library in Coquelicot Interval Flocq; do
  [ -d "$(coqc -where)/user-contrib/$library" ] || { echo "Skipped: no Coq library $library"; exit 77; }
done
files=$(sh "$(dirname "$0")/sources.sh" "$proofs")
mkdir -p "$build"
# A proof that is gone must not be found by one that still needs it.
(cd "$build" && find . -name '*.v' | sed 's|^\./||') | while read -r file; do
  [ -f "$proofs/$file" ] || rm -f "$build/${file%.v}".*
done
for file in _CoqProject $files; do
  cmp -s "$proofs/$file" "$build/$file" && continue
  mkdir -p "$(dirname "$build/$file")"
  cp "$proofs/$file" "$build/$file"
done
cd "$build"
# shellcheck disable=SC2086 # a list of words
coq_makefile -f _CoqProject $files -o Makefile
make --no-print-directory -j"$(nproc)"
# shellcheck disable=SC2086
echo "$(echo "$files" | wc -l) files, $(cat $files | wc -l) lines"

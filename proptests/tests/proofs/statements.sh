#!/bin/sh
# statements.sh PROOFS BUILD [--write]: every theorem says what theory/proofs/statements.txt says that it says, so that a
# statement cannot become weaker unseen. --write records what the build proves now.
set -eu
here=$(dirname "$0")
proofs=$1 build=$2
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
now=$(mktemp)
trap 'rm -f "$now"' EXIT
sh "$here/ask.sh" "$proofs" "$build" Check >"$now"
if [ "${3:-}" = --write ]; then
  cp "$now" "$proofs/statements.txt.new" && mv "$proofs/statements.txt.new" "$proofs/statements.txt"
  exit 0
fi
diff "$proofs/statements.txt" "$now" || {
  echo "A statement has changed. If that is meant: sh $0 $proofs $build --write, and read the difference."
  exit 1
}
echo "$(grep -c '^== ' "$now") statements"

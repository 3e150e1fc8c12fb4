#!/bin/sh
# coqchk.sh PROOFS BUILD: Coq's separate checker reads the compiled proofs again. It does not compute by virtual machine as
# Coq itself does. A plain run has it read the paper's results; the folders of floating point, which take it four times as
# long, and the file of all intervals wait for SOFTCHECK_EFFORT=deep.
set -eu
proofs=$1 build=$2
command -v coqchk >/dev/null 2>&1 || { echo "Skipped: no coqchk"; exit 77; }
modules=$(cd "$proofs" && find . -name '*.v' | sed 's|^\./||; s|\.v$||; s|/|.|g; s|^|softcheck.|' | LC_ALL=C sort)
all=$(echo "$modules" | wc -l)
if [ "${SOFTCHECK_EFFORT:-}" != deep ]; then
  modules=$(echo "$modules" | grep -v -e '^softcheck\..*\.' -e '^softcheck\.standard_interval$')
fi
# shellcheck disable=SC2086 # a list of words
coqchk -silent -Q "$build" softcheck $(echo "$modules" | sed 's/^/-norec /')
echo "$(echo "$modules" | wc -l) of $all modules checked again"

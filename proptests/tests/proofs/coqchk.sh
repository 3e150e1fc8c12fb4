#!/bin/sh
# coqchk.sh PROOFS BUILD: Coq's separate checker reads the compiled proofs again. It does not compute by virtual machine as
# Coq itself does: the two modules below take it longer than all others together, and wait for SOFTCHECK_EFFORT=deep.
set -eu
proofs=$1 build=$2
long='softcheck.standard_interval softcheck.numerics.exponential_polynomials'
command -v coqchk >/dev/null 2>&1 || { echo "Skipped: no coqchk"; exit 77; }
modules=$(cd "$proofs" && find . -name '*.v' | sed 's|^\./||; s|\.v$||; s|/|.|g; s|^|softcheck.|' | LC_ALL=C sort)
left=
if [ "${SOFTCHECK_EFFORT:-}" != deep ]; then
  for module in $long; do
    rest=$(echo "$modules" | grep -vx "$module") || :
    [ "$rest" = "$modules" ] || left="$left $module"
    modules=$rest
  done
fi
# shellcheck disable=SC2086 # a list of words
coqchk -silent -Q "$build" softcheck $(echo "$modules" | sed 's/^/-norec /')
echo "$(echo "$modules" | wc -l) modules checked again"
[ -z "$left" ] || echo "left for SOFTCHECK_EFFORT=deep:$left"

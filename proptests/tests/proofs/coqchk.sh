#!/bin/sh
# coqchk.sh PROOFS BUILD: Coq's separate checker reads the compiled proofs again. Not standard_interval: its copy of a
# library's functor takes it minutes; SOFTCHECK_EFFORT=deep takes them.
set -eu
proofs=$1 build=$2
command -v coqchk >/dev/null 2>&1 || { echo "Skipped: no coqchk"; exit 77; }
modules=$(cd "$proofs" && find . -name '*.v' | sed 's|^\./||; s|\.v$||; s|/|.|g; s|^|softcheck.|' | LC_ALL=C sort)
[ "${SOFTCHECK_EFFORT:-}" = deep ] || modules=$(echo "$modules" | grep -v '\.standard_interval$')
# shellcheck disable=SC2086 # a list of words
coqchk -silent -Q "$build" softcheck $(echo "$modules" | sed 's/^/-norec /')
echo "$(echo "$modules" | wc -l) modules checked again"

#!/bin/sh
# certify.sh SOFTCHECK KERNELS JUDGE: `softcheck kernel --certify` says of each failure what the extracted judge says, and
# what it could not ask; the last part needs the judge.
set -eu
softcheck=$1 mutants=$2/libsoftcheck_zoo.so judge=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -f "$mutants" ] || { echo "Skipped: no mutants"; exit 77; }
asked() { # CODE ARGUMENTS...
  code=$1 got=0
  shift
  "$softcheck" kernel "$@" --effort quick --json "$work/report.json" >"$work/out" 2>&1 || got=$?
  [ "$got" = "$code" ] || { cat "$work/out"; echo "exit $got instead of $code: $*"; exit 1; }
}
says() { grep -qF -e "$1" "$work/out" || { cat "$work/out"; echo "it does not say: $1"; exit 1; }; }
notes() { grep -qF -e "$1" "$work/report.json" || { echo "the JSON report does not say: $1"; exit 1; }; }
logsumexp() { # CODE ARGUMENTS...: of a kernel that takes another base
  code=$1
  shift
  asked "$code" "$mutants:mutant_lse_base_2" --op logsumexp "$@"
}

logsumexp 1 --certify --extracted-judge "$work/missing"
says "certification: none, there is no extracted judge at '$work/missing'"
SOFTCHECK_EXTRACTED_JUDGE=$work/elsewhere logsumexp 1 --certify
says "certification: none, there is no extracted judge at '$work/elsewhere'"
logsumexp 2 --certify --infer
says 'need no --certify'

# Judges that answer otherwise.
printf '#!/bin/sh\necho not_violated\n' >"$work/silent"
printf '#!/bin/sh\nexit 3\n' >"$work/broken"
chmod +x "$work/silent" "$work/broken"
logsumexp 1 --certify --extracted-judge "$work/silent"
says 'certified: DISAGREEMENT'
says 'in DISAGREEMENT with the extracted judge'
notes '"outcome": "disagreement"'
logsumexp 1 --certify --extracted-judge "$work/broken"
says 'could not read a question'
notes '"outcome": "not covered"'
if grep -q 'proved by the extracted judge"' "$work/report.json"; then echo "a broken judge proves"; exit 1; fi

[ -x "$judge" ] || { echo "Skipped: no extracted judge (Coq, OCaml and Zarith make one)"; exit 77; }
export SOFTCHECK_EXTRACTED_JUDGE="$judge"
logsumexp 1 --certify
says 'certified: proved by the extracted judge'
notes '"outcome": "proved"'
replay=$(sed -n "s/.*--replay '\(.*\)'.*/\1/p" "$work/out" | head -n 1)
[ -n "$replay" ]
logsumexp 1 --certify --replay "$replay"
says 'certified: proved by the extracted judge'
logsumexp 1
if grep -q 'certif' "$work/out"; then cat "$work/out"; echo "it certifies unasked"; exit 1; fi
asked 1 "$mutants:mutant_shifts_by_first_logit" --op softmax --dtype f64 --certify
says 'certified:'
asked 1 "$mutants:mutant_masked_row_zero" --certify
says 'not covered by the extracted judge'
asked 0 "$mutants:correct_two_pass" --certify
says 'certification: nothing to certify'
cat "$work/out"

#!/bin/sh
# networks.sh PROOFS BUILD SOFTCHECK MODELS: Coq proves what softcheck writes about a network that ships with the project,
# about all of them with SOFTCHECK_EFFORT=deep. Numbers that are not so are refused, and so is a checker that leaves out a
# part of what it has to do.
set -eu
here=$(dirname "$0")
proofs=$1 build=$2 softcheck=$3 models=$4
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
[ -x "$softcheck" ] || { echo "Skipped: the softcheck command is not built"; exit 77; }
build=$(cd "$build" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

prove() { # FILE.v NETWORK
  "$softcheck" model --prove "$1" --proofs "$build" "$2" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  cat "$work/log"
  grep -q '^pass: proved by coqc' "$work/log"
}
first=$models/seed-01.safetensors
prove "$work/first.v" "$first"
if [ "${SOFTCHECK_EFFORT:-}" = deep ]; then
  for network in "$models"/*.safetensors; do
    [ "$network" = "$first" ] || prove "$work/network.v" "$network"
  done
fi

# What cannot be checked is written all the same, and a line says how.
code=0
"$softcheck" model --prove "$work/unchecked.v" --proofs "$work/nowhere" "$first" >"$work/log" || code=$?
cmp "$work/first.v" "$work/unchecked.v"
grep -q '^not checked: need softcheck.s compiled proofs' "$work/log" || code=0
[ "$code" = 5 ] || { cat "$work/log"; exit 1; }

# A coqc that did not start may have said so by 127 alone (POSIX, posix_spawnp).
code=0
mkdir "$work/unstarted"
printf '#!/bin/sh\nexit 127\n' >"$work/unstarted/coqc"
chmod +x "$work/unstarted/coqc"
PATH="$work/unstarted:$PATH" "$softcheck" model --prove "$work/unchecked.v" --proofs "$build" "$first" >"$work/log" || code=$?
grep -q '^not checked: need coqc' "$work/log" || code=0
[ "$code" = 5 ] || { cat "$work/log"; exit 1; }

# The file's own claims, each moved by the least that makes it wrong.
claim() { sed -n "s/^Theorem [a-z_]* : \($1 .*\) = true\.$/\1/p" "$work/first.v"; }
length=$(claim length_check) floor=$(claim floor_check)
[ -n "$length" ] && [ -n "$floor" ]
{
  cat "$here/printed/moved_claims.v"
  echo "Eval vm_compute in (\"length\"%string, less (${length% *}) ${length##* })."
  echo "Eval vm_compute in (\"longer\"%string, [${length% *} (${length##* } + 1)])."
  echo "Eval vm_compute in (\"floor\"%string, more (${floor% *}) ${floor##* })."
} >"$work/moved.v"
(cd "$work" && coqc -q -Q "$build" softcheck -w none moved.v) | tr -d '\n' | sed 's/ *: string/\n/g; s/  */ /g' >"$work/log"
for claim in product folded length floor; do
  grep -q "\"$claim\"[^\"]*\[true; false\]" "$work/log" || { cat "$work/log"; echo "$claim: not true as claimed, false beyond"; exit 1; }
done
grep -q '"longer"[^"]*\[false\]' "$work/log" || { cat "$work/log"; exit 1; }
echo "a smaller bound, another length and a higher floor are refused"

# A checker with a fault: its soundness has no proof.
mkdir "$work/altered"
faulty() { # FILE FROM TO: FROM stands once in the file
  sh "$here/altered.sh" "$proofs/certified_network/$1" "$2" "$3" >"$work/altered/$1"
  if (cd "$work/altered" && coqc -q -Q "$build" softcheck -w none "$1") >"$work/log" 2>&1; then
    echo "$1 still compiles with: $3"
    exit 1
  fi
  if grep -q 'Syntax error' "$work/log"; then cat "$work/log"; exit 1; fi
  echo "$1 must not compile: $3"
}
faulty matrix_norms.v '+ gram_square rest)%Z' '+ 0 * gram_square rest)%Z'
faulty max_retrieval.v '(at_ c - half c <=? from) &&' '(at_ c - half c <=? from + 1) &&'

[ "${SOFTCHECK_EFFORT:-}" = deep ] || { echo "7 more with SOFTCHECK_EFFORT=deep"; exit 0; }
faulty matrix_norms.v 'Definition rounding_share : Z := 64.' 'Definition rounding_share : Z := 63.'
faulty point_layers.v '(map coarse_size (fst row)) r) + size + 2)%Z' '(map coarse_size (fst row)) r) + 2)%Z'
faulty answer_check.v '(fst (entry_at e c) + snd (entry_at e c) <? low)' '(fst (entry_at e c) <? low)'
faulty mistake_check.v '(alpha_cells m) 0)%bool' '(alpha_cells m) 1)%bool'
refused() { # WHAT: Coq does not accept the file that sed has changed
  cmp -s "$work/first.v" "$work/changed.v" && { echo "nothing changed: $1"; exit 1; }
  if (cd "$work" && coqc -q -Q "$build" softcheck -w none changed.v) >"$work/log" 2>&1; then
    echo "coqc accepts: $1"
    exit 1
  fi
  grep -q 'has type "true = true"' "$work/log" || { cat "$work/log"; exit 1; }
  echo "coqc must refuse: $1"
}
# The first weight of the key matrix, 2^16 times as large or small: one digit of its exponent.
awk '/^Definition attention_key_weights/ { print; getline; sub(/0x[3b]./, (substr($0, 5, 1) == "3") ? "0x43" : "0xc3") } { print }' \
  "$work/first.v" >"$work/changed.v"
refused "a weight with another digit"
bounds=$(claim spread_check)
product=$(echo "$bounds" | cut -d ' ' -f 4)
sed "s/^Theorem checked : spread_check trained cells $product /Theorem checked : spread_check trained cells $((product - product / 50)) /" \
  "$work/first.v" >"$work/changed.v"
refused "a bound that is 2 % smaller"
# Of two items the network answers rightly.
sed 's/^  wrong_from := [0-9]*; alpha_cells := /  wrong_from := 2; alpha_cells := /' "$work/first.v" >"$work/changed.v"
refused "a mistake on two items"

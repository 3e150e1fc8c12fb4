#!/bin/sh
# statements.sh PROOFS BUILD [--write]: theorems, examples, definitions and instances say what theory/proofs/statements.txt
# says that they say, so that none can become weaker unseen; notations and modules stand there as their source has them.
# All definitions are listed, a superset of those that a theorem's statement reaches. --write records what the build proves
# now.
set -eu
here=$(dirname "$0")
proofs=$1 build=$2
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
now=$(mktemp)
trap 'rm -f "$now"' EXIT
# Numbers and relations of the reals as a reader writes them; a coercion is shown, since it may change what is said.
notation='From Coq Require Import Reals List ZArith QArith Qreals. Import ListNotations. Open Scope R_scope.
Set Printing Coercions.'
definitions='Definition|Fixpoint|CoFixpoint|Function|Inductive|CoInductive|Variant|Record|Structure|Class'
section() { # TITLE COMMAND KINDS
  echo "=== $1"
  sh "$here/ask.sh" "$proofs" "$build" "$2" "$3" "$notation"
}
{
  section theorems Check 'Theorem|Corollary'
  section examples Check Example
  section definitions Print "$definitions"
  section instances Check Instance
  # A notation of the reader's own would change what the lines above seem to say; a module is another's functor applied.
  echo "=== notations, scopes, coercions and modules"
  (cd "$proofs" && find . -name '*.v' | sed 's|^\./||' | LC_ALL=C sort | xargs grep -hE \
    '^ *((Local|Global) +)?(Infix|Notation|Reserved Notation|(Declare|Delimit|Bind) Scope|Coercion|Canonical|Module) ' /dev/null |
    sed 's/^ */  /' | LC_ALL=C sort | uniq -c)
} >"$now"
if grep -n -F '...' "$now"; then
  echo "Coq has left something out where it prints dots."
  exit 1
fi
if [ "${3:-}" = --write ]; then
  cp "$now" "$proofs/statements.txt.new" && mv "$proofs/statements.txt.new" "$proofs/statements.txt"
  exit 0
fi
diff "$proofs/statements.txt" "$now" || {
  echo "A statement, an example, a definition, an instance, a notation or a module has changed. If that is meant: sh $0 $proofs $build --write, and read the difference."
  exit 1
}
echo "$(grep -c '^== ' "$now") statements, examples, definitions and instances"

#!/bin/sh
# statements.sh PROOFS BUILD [--write]: nothing that the development states has become weaker unseen. PROOFS/statements.txt has
# the text of the theorems that readers meet (claims of theory/README.md, what TRUST.md names, bounds that examples.tsv calls
# reached) and, for each module, a digest of everything else: theorems, examples, bodies of definitions, types of instances,
# source lines of notations and modules. BUILD/statements.txt gets all texts. Where the record differs, the test prints the
# texts that changed: the old ones stand in BUILD/statements.txt, or come from a build of the commit that wrote the record.
# --write records what the whole development proves now; else the modules that wait for SOFTCHECK_EFFORT=deep (sources.sh) are left out.
set -eu
here=$(dirname "$0")
proofs=$1 build=$2
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Numbers and relations of the reals as a reader writes them; a coercion is shown, since it may change what is said.
notation='From Coq Require Import Reals List ZArith QArith Qreals. Import ListNotations. Open Scope R_scope.
Set Printing Coercions.'
definitions='Definition|Fixpoint|CoFixpoint|Function|Inductive|CoInductive|Variant|Record|Structure|Class'
section() { # TITLE COMMAND KINDS, of the development $from as compiled in $compiled
  echo "=== $1"
  sh "$here/ask.sh" "$from" "$compiled" "$2" "$3" "$notation"
}
texts() { # PROOFS BUILD: everything that is stated
  from=$1 compiled=$2
  section theorems Check 'Theorem|Corollary'
  section examples Check Example
  section definitions Print "$definitions"
  section instances Check Instance
  # A notation of the reader's own would change what the lines above seem to say; a module is another's functor applied.
  echo "=== notations, scopes, coercions and modules"
  sh "$here/sources.sh" "$from" | (cd "$from" && while read -r file; do
    lines=$(grep -E \
      '^ *((Local|Global) +)?(Infix|Notation|Reserved Notation|(Declare|Delimit|Bind) Scope|Coercion|Canonical|Module) ' \
      "$file" | sed 's/^ */  /') || continue
    printf '== softcheck.%s.source\n%s\n' "$(echo "${file%.v}" | tr / .)" "$lines"
  done)
}
named() { # the theorems whose text is recorded
  grep -ohE '`[A-Za-z0-9_.]+`' "$proofs/../README.md" "$proofs/TRUST.md" 2>/dev/null | tr -d '`'
  awk -F '\t' '$3 ~ /^reached/ { gsub(/ /, "\n", $1); print $1 }' "$proofs/examples.tsv" 2>/dev/null || true
}
record() { # TEXTS: what statements.txt says of them
  rm -rf "$work/modules"
  mkdir "$work/modules"
  named >"$work/named"
  awk -v modules="$work/modules" '
    FILENAME ~ /named$/ { shown["softcheck." $1] = 1; next }
    /^=== / { part = $0; next }
    /^== / {
      name = $2
      module = name
      sub(/\.[^.]*$/, "", module)
      shows = part == "=== theorems" && name in shown
    }
    # Coq repeats the name in front of a text of more than one line.
    shows && !/^== / && substr(name, length(name) - length($0) + 1) == $0 { next }
    shows { print; next }
    # A line of its own for the kind: a theorem must not turn into a definition.
    { if (/^== /) print part >>(modules "/" module); print >>(modules "/" module) }' "$work/named" "$1"
  echo "=== SHA-256 of what else each module states"
  (cd "$work/modules" && find . -type f | sed 's|^\./||' | LC_ALL=C sort | xargs -r sha256sum | awk '{ print $2, $1 }')
}
if [ "${3:-}" = --write ]; then
  export SOFTCHECK_EFFORT=deep
  sh "$here/build.sh" "$proofs" "$build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
fi
sh "$here/sources.sh" "$proofs" >"$work/built"
SOFTCHECK_EFFORT=deep sh "$here/sources.sh" "$proofs" | LC_ALL=C comm -23 - "$work/built" |
  sed 's|\.v$||; s|/|.|g; s|^|softcheck.|' >"$work/waiting"
present() { # RECORD: without the modules that wait
  awk 'FILENAME ~ /waiting$/ { waits[$1] = 1; next } !($1 in waits)' "$work/waiting" "$1"
}
texts "$proofs" "$build" >"$work/statements.txt"
if grep -n -F '...' "$work/statements.txt"; then
  echo "Coq has left something out where it prints dots."
  exit 1
fi
record "$work/statements.txt" >"$work/record"
if [ "${3:-}" = --write ]; then
  cp "$work/record" "$proofs/statements.txt.new" && mv "$proofs/statements.txt.new" "$proofs/statements.txt"
elif present "$proofs/statements.txt" >"$work/recorded" && ! cmp -s "$work/record" "$work/recorded"; then
  old=$build/statements.txt
  if ! { [ -f "$old" ] && record "$old" >"$work/record_of_old" && present "$work/record_of_old" | cmp -s - "$work/recorded"; }; then
    old=$work/old.txt
    {
      commit=$(git -C "$proofs" log -1 --format=%H -- statements.txt) && [ -n "$commit" ] && mkdir "$work/old" &&
        git -C "$proofs" archive "$commit" . | tar -x -C "$work/old" &&
        sh "$here/build.sh" "$work/old" "$work/compiled" && texts "$work/old" "$work/compiled" >"$old"
    } >"$work/log" 2>&1 || { echo "No older texts:" && tail -3 "$work/log" && : >"$old"; }
  fi
  diff "$work/recorded" "$work/record" || true
  diff "$old" "$work/statements.txt" || true
  echo "A statement, an example, a definition, an instance, a notation or a module has changed. If that is meant: sh $0 $proofs $build --write, and read the difference."
  exit 1
fi
cp "$work/statements.txt" "$build/statements.txt.new" && mv "$build/statements.txt.new" "$build/statements.txt"
echo "$(grep -c '^== ' "$build/statements.txt") statements, examples, definitions, instances and modules"

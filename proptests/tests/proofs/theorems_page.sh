#!/bin/sh
# theorems_page.sh PROOFS: the page "Theorems" of ./run pages. It lists every claim of theory/README.md with the theorem of its
# name, and every further theorem, each with the axioms that axioms.tsv records of its file. It needs no Coq.
set -eu
here=$(dirname "$0")
proofs=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$here/theorems.sh" "$proofs" >"$work/names"
# What each file's opening comment says of its results: "    - [name]   words, maybe on several lines".
(cd "$proofs" && find . -name '*.v' | sed 's|^\./||' | LC_ALL=C sort | while read -r file; do
  awk -v module="softcheck.$(echo "${file%.v}" | tr / .)" '
    function finish(   i) {
      for (i = 1; i <= names; i++) print module "." name[i] "\t" words
      names = 0
    }
    /^ *- \[[A-Za-z0-9_]+\]/ {
      finish()
      words = $0
      sub(/^ *- /, "", words)
      while (match(words, /^\[[A-Za-z0-9_]+\],? */)) { # one text may be of several theorems
        name[++names] = substr(words, 2, index(words, "]") - 2)
        words = substr(words, RLENGTH + 1)
      }
      next
    }
    names > 0 && /^ *$/ || /\*\)/ { finish(); next }
    names > 0 { line = $0; sub(/^ */, "", line); words = words " " line }
    /^(From|Require|Import)/ { exit }' "$file"
done) >"$work/words"
cat <<'TEXT'
# Theorems

Every theorem of theory/proofs, with the axioms that the theorems of its file rest on together: R the classical reals of Coq's library
(sig_forall_dec, sig_not_dec, functional_extensionality_dep), C excluded middle (classic), I indefinite description, by which Coquelicot takes limits; - none.

## The claims

A claim's theorem has its name: `lemma_2_1.upper` is Theorem `upper` of lemma_2_1.v.

| result | theorem | statement | header | property | axioms |
|---|---|---|---|---|---|
TEXT
awk -F '\t' -v readme="$proofs/../README.md" '
  FILENAME ~ /axioms.tsv$/ { axioms[$1] = $2; next }
  FILENAME ~ /names$/ { order[++count] = $0; known[$0] = 1; next }
  { words[$1] = $2 }
  function shown(theorem) {
    sub(/^softcheck\./, "", theorem)
    sub(/\.[^.]*$/, "", theorem)
    return axioms[theorem]
  }
  END {
    while ((getline line < readme) > 0) {
      if (line !~ /^\|.*`[a-z][a-z0-9_]*\.[a-z0-9_]*`/) continue
      n = split(line, cell, / *\| */)
      if (cell[2] != "") result = cell[2]
      claim = cell[3]; gsub(/`/, "", claim)
      theorem = "softcheck." claim
      if (!(theorem in known)) continue
      claimed[theorem] = 1
      printf "| %s | `%s` | %s | %s | %s | %s |\n", result, claim, cell[4], cell[5], cell[7], shown(theorem)
      result = ""
    }
    print "\n## Further theorems\n\n| theorem | statement | axioms |\n|---|---|---|"
    for (i = 1; i <= count; i++) {
      name = order[i]
      if (name in claimed) continue
      short = name; sub(/^softcheck\./, "", short)
      text = words[name]; gsub(/\|/, "\\|", text)
      printf "| `%s` | %s | %s |\n", short, text, shown(name)
    }
  }' "$proofs/axioms.tsv" "$work/names" "$work/words"

#!/bin/sh
# theorems_page.sh PROOFS BUILD [--write]: theory/proofs/THEOREMS.md is what the build says. It lists every claim of
# theory/README.md with the theorem of its name and every further theorem, each with the axioms its file rests on; these
# are asked for with SOFTCHECK_EFFORT=deep alone, and are else the page's own.
set -eu
here=$(dirname "$0")
proofs=$1 build=$2
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "${3:-}" ] || [ "${SOFTCHECK_EFFORT:-}" = deep ]; then
  sh "$here/axioms.sh" "$proofs" "$build" ${3:+each} >"$work/axioms"
else
  sed -n 's/^|.*`\([a-z0-9_.]*\)\.[A-Za-z0-9_]*` |.*| \([RCI-]*\) |$/softcheck.\1 \2/p' "$proofs/THEOREMS.md" | sort -u |
    awk '{
      if ($2 ~ /R/) print $1, "ClassicalDedekindReals"
      if ($2 ~ /C/) print $1, "Classical_Prop"
      if ($2 ~ /I/) print $1, "IndefiniteDescription"
      if ($2 == "-") print $1, "-"
    }' >"$work/axioms"
fi
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
{
  cat <<'TEXT'
# Theorems

Generated from a build of the proofs by proptests/tests/proofs/theorems_page.sh; a test compares it with the build.
Axioms, of all theorems of a file together: R the classical reals of Coq's library (sig_forall_dec, sig_not_dec, functional_extensionality_dep), C excluded
middle (classic), I indefinite description, by which Coquelicot takes limits; - none.

## The claims

A claim's theorem has its name: `lemma_2_1.upper` is Theorem `upper` of lemma_2_1.v.

| result | theorem | statement | header | property | axioms |
|---|---|---|---|---|---|
TEXT
  awk -F '\t' -v readme="$proofs/../README.md" '
    FILENAME ~ /axioms$/ {
      split($0, part, " ")
      mark = part[2] ~ /Classical_Prop/ ? "C" : part[2] ~ /IndefiniteDescription/ ? "I" : part[2] ~ /Reals|Extensionality/ ? "R" : part[2] == "-" ? "" : "?"
      if (index(axioms[part[1]], mark) == 0) axioms[part[1]] = axioms[part[1]] mark
      next
    }
    FILENAME ~ /names$/ { order[++count] = $0; known[$0] = 1; next }
    { words[$1] = $2 }
    function shown(theorem,   a, name) {
      name = theorem
      sub(/\.[^.]*$/, "", name)
      a = ""
      if (index(axioms[name], "R")) a = a "R"
      if (index(axioms[name], "C")) a = a "C"
      if (index(axioms[name], "I")) a = a "I"
      if (index(axioms[name], "?")) a = a "?"
      return a == "" ? "-" : a
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
    }' "$work/axioms" "$work/names" "$work/words"
} >"$work/page"
if [ "${3:-}" = --write ]; then
  cp "$work/page" "$proofs/THEOREMS.md.new" && mv "$proofs/THEOREMS.md.new" "$proofs/THEOREMS.md"
  exit 0
fi
diff "$proofs/THEOREMS.md" "$work/page" || { echo "THEOREMS.md is out of date: sh $0 $proofs $build --write"; exit 1; }
echo "$(grep -c '^| ' "$work/page") rows"

#!/bin/sh
# The opam file of the proofs has the project's version and names each library that a proof requires.
set -eu
file=theory/proofs/coq-softcheck.opam
version=$(sed -n 's/^project(softcheck VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
grep -qx "version: \"$version\"" $file || { echo "$file has no version: \"$version\""; exit 1; }
grep -qx "version = \"$version\"" pyproject.toml || { echo "pyproject.toml has no version = \"$version\""; exit 1; }
grep -qx "version: $version" CITATION.cff || { echo "CITATION.cff has no version: $version"; exit 1; }
libraries=$(find theory/proofs -name '*.v' -exec sed -n 's/^From \([A-Za-z]*\)[. ].*/\1/p' {} + | sort -u)
[ "$(echo "$libraries" | wc -l)" -gt 3 ] || { echo "only these libraries were found: $libraries"; exit 1; }
for library in $libraries; do
  case $library in
    softcheck) continue ;;
    Coq) package=coq ;;
    *) package=coq-$(echo "$library" | tr 'A-Z' 'a-z') ;;
  esac
  grep -q "^  \"$package\"" $file || { echo "$file does not depend on $package, which a proof requires"; exit 1; }
done
command -v opam >/dev/null 2>&1 || { echo "not linted: no opam"; exit 0; }
opam lint $file

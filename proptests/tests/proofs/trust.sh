#!/bin/sh
# trust.sh PROOFS: every test that PROOFS/TRUST.md names for what is not proved exists, and each line of its table names one.
set -eu
trust=$1/TRUST.md
tests=$(cd "$(dirname "$0")/.." && pwd)
defined=$(mktemp)
trap 'rm -f "$defined"' EXIT
grep -rhoE '^(TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP)\([A-Za-z0-9]+, *[A-Za-z0-9]+' --include='*.cpp' "$tests" |
  sed 's/^[A-Z_]*(//; s/, */./' | LC_ALL=C sort -u >"$defined"
# Tests that are rows of a table: add_test names the suite, each row its test.
find "$tests" -name '*_test.cpp' -exec awk '
  FNR == 1 { suite = "" }
  match($0, /add_test\("[A-Za-z0-9]+"/) { suite = substr($0, RSTART + 10, RLENGTH - 11) }
  suite != "" && match($0, /^ *rejected\("[A-Za-z0-9]+"/) { split($0, word, "\""); print suite "." word[2] }
' {} + >>"$defined"
awk -F '|' '
  FILENAME != trust { defined[$1] = 1; next }
  /^## Not proved/ { inside = 1 }
  inside && /^\| / && $2 !~ /^ not proved / {
    lines++; found = 0; text = $3
    while (match(text, /`[A-Za-z0-9]+\.[A-Za-z0-9]+`/)) {
      name = substr(text, RSTART + 1, RLENGTH - 2); text = substr(text, RSTART + RLENGTH); found++
      if (!(name in defined)) { printf "TRUST.md: there is no test %s\n", name; failed = 1 }
    }
    if (!found) { printf "TRUST.md: no test for:%s\n", $2; failed = 1 }
    named += found
  }
  END { printf "%d things not proved, %d names of tests\n", lines, named; exit failed || lines == 0 }
' trust="$trust" "$defined" "$trust"

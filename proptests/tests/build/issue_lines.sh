#!/bin/sh
# issue_lines.sh CTEST BUILD: every row of proptests/tests/issue_45.tsv has a line of the issue and a test that exists: one of ctest's, or
# a function of pytest, python/tests/FILE.py::NAME.
set -eu
ctest=$1 build=$2
table=proptests/tests/issue_45.tsv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

missing() { # TABLE: prints what is wrong with its rows, and fails
  awk -F '\t' 'NR == 1 { if ($0 != "line\ttest") { print "the header is not line, test"; exit } next }
    NF != 2 || $1 == "" || $2 == "" { print "row " NR " needs a line of the issue, a tab and a test: " $0 }
    seen[$0]++ { print "row " NR " is there twice: " $0 }' "$1" >"$work/wrong"
  tail -n +2 "$1" | cut -f 2 -s | sort -u | while read -r name; do
    case $name in
      python/*::*)
        file=${name%%::*} function=${name##*::}
        [ -f "$file" ] && grep -q "^ *def ${function%%\[*}(" "$file" || echo "pytest has no test $name" ;;
      *) grep -Fqx -e "$name" "$work/names" || echo "ctest has no test $name" ;;
    esac
  done >>"$work/wrong"
  cat "$work/wrong"
  [ ! -s "$work/wrong" ]
}

# In a folder of its own, so that ctest's log of the run under way is left alone.
mkdir "$work/build"
echo "subdirs(\"$build\")" >"$work/build/CTestTestfile.cmake"
"$ctest" --test-dir "$work/build" --show-only | sed -n 's/  # GetParam() = .*//; s/^ *Test *#[0-9]*: //p' >"$work/names"
[ -s "$work/names" ] || { echo "no tests below $build"; exit 1; }
if grep '_NOT_BUILT$' "$work/names"; then echo "build these programs first: ctest does not know their tests"; exit 1; fi
missing "$table"
echo "$(($(wc -l <"$table") - 1)) rows name tests that exist"

plant() { # ROW: a table of a right row and this one
  printf 'line\ttest\n4 a guard\tBuild.EveryTestHasOneLabel\n%b\n' "$1" >"$work/planted"
}
right=$(sed -n 's/^def \(test_[a-z0-9_]*\)(.*/\1/p' python/tests/test_check.py | head -1)
plant "1 a line\\tpython/tests/test_check.py::$right"
missing "$work/planted" || { echo "two right rows were refused"; exit 1; }
for wrong in '1 a line\tBuild.NoSuchTest' '1 a line\tBuild.EveryTestHasOne' '1 a line\tpython/tests/test_check.py::test_no_such' \
  '1 a line\tpython/tests/no_such.py::test_it' '1 a line' '1 a line\t' '4 a guard\tBuild.EveryTestHasOneLabel'; do
  plant "$wrong"
  if missing "$work/planted" >/dev/null; then echo "accepted: $wrong"; exit 1; fi
done

#!/bin/sh
# labels.sh CTEST BUILD: every test that ctest knows has one label, fast, full, proofs or deep, and every line `Labelled full` or
# `Labelled deep` of a source names tests that are there and have the label.
set -eu
ctest=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tests() { # FOLDER LABEL...: the names of the tests that have all of these labels
  folder=$1
  shift
  for label do
    shift
    set -- "$@" --label-regex "^$label\$"
  done
  "$ctest" --test-dir "$folder" --show-only "$@" | sed -n 's/^ *Test *#[0-9]*: //p' | sort
}

one_label() { # FOLDER: its tests are those that have one of the labels, and no test has two
  tests "$1" >"$work/all"
  [ -s "$work/all" ] || { echo "no tests below $1"; return 1; }
  for label in fast full proofs deep; do tests "$1" $label; done | sort >"$work/labelled"
  diff "$work/all" "$work/labelled" >"$work/differences" && return 0
  sed -n 's/^< /no label: /p; s/^> /two labels: /p' "$work/differences"
  return 1
}

# In a folder of its own, so that ctest's log of the run under way is left alone.
mkdir "$work/build" "$work/planted"
echo "subdirs(\"$build\")" >"$work/build/CTestTestfile.cmake"
one_label "$work/build"
echo "$(wc -l <"$work/all") tests have one label each"

plant() { # LABELS: a second test beside one that is fast
  printf 'add_test(right true)\nset_tests_properties(right PROPERTIES LABELS fast)\nadd_test(wrong true)\n%s\n' \
    "${1:+set_tests_properties(wrong PROPERTIES LABELS \"$1\")}" >"$work/planted/CTestTestfile.cmake"
}
plant full
one_label "$work/planted" || { echo "two right labels were refused"; exit 1; }
for wrong in '' 'fast;full' 'slow'; do
  plant "$wrong"
  if one_label "$work/planted" >/dev/null; then echo "accepted: a test labelled '$wrong'"; exit 1; fi
done

if grep -rn "Labelled [a-z]*: " proptests/tests --include='*.cpp' | grep -v ':// Labelled'; then
  echo "a label must begin its line, else it labels nothing"; exit 1
fi
for label in full deep; do
  tests "$work/build" $label >"$work/labelled"
  grep -rh "^// Labelled $label: " proptests/tests --include='*.cpp' | sed 's/^.*: //' | tr ':' '\n' >"$work/filters"
  [ -s "$work/filters" ] || { echo "no source has a line 'Labelled $label'"; exit 1; }
  while read -r filter; do # of a typed test ctest has its type, not its number
    grep -q "^$(echo "$filter" | sed 's,/[0-9]*[.],.,; s/[.]/[.]/g; s/[*]/.*/g')" "$work/labelled" || { echo "no test labelled $label is '$filter'"; exit 1; }
  done <"$work/filters"
done

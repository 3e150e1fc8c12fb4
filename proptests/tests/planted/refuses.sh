#!/bin/sh
# refuses.sh PLANTED_BUGS NINJA SOURCE BUILD SCRATCH: what planted_bugs must not let pass, and that it leaves the build
# as it was.
set -eu
planted=$1 ninja=$2 source=$3 build=$4 scratch=$5
target=kernels/libsoftcheck_cpu_kernels.so
file=kernels/entry/instruction_sets.cpp
test='test_kernels CpuVarlen.AQueryWithoutKeysIsZero'
line='#include <hwy/targets.h>'
rm -rf "$scratch"
mkdir -p "$scratch"
before=$(cksum "$build/$target" "$source/$file")

# expect WORDS TEXT REPLACEMENT TEST: a table of one such bug fails and the output has these words.
expect() {
  printf 'id\teffort\tfile\ttext\treplacement\ttest\twhy\n' >"$scratch/table.tsv"
  printf 'a-bug\tquick\t%s\t%s\t%s\t%s\ta reason\n' "$file" "$2" "$3" "$4" >>"$scratch/table.tsv"
  status=0
  "$planted" "$ninja" "$source" "$build" $target "$scratch/table.tsv" "$scratch/work" >"$scratch/output" 2>&1 || status=$?
  if [ $status != 1 ] || ! grep -q -- "$1" "$scratch/output"; then
    echo "want exit status 1 and '$1', got $status:"
    cat "$scratch/output"
    exit 1
  fi
}

grep -qxF "$line" "$source/$file" || { echo "$file: need the line $line"; exit 1; }
expect 'SURVIVED  a-bug' "$line" "$line  // no bug" "$test"
expect 'BROKEN    a-bug: it does not compile' "$line" 'no code' "$test"
expect 'BROKEN    a-bug: it does not link' "$line" "$line\\nextern int nowhere; int here() { return nowhere; }" "$test"
expect 'STALE     a-bug: its text stands nowhere' 'no such text' 'another' "$test"
expect 'STALE     a-bug: its text stands more than once' 'e' 'another' "$test"
expect 'must pass and run a test' "$line" "$line  // no bug" 'test_kernels NoSuite.NoTest'
expect 'must pass and run a test' "$line" "$line  // no bug" 'test_nowhere NoSuite.NoTest'
expect 'a bug has an id, a text' "$line" "$line" "$test"
[ "$before" = "$(cksum "$build/$target" "$source/$file")" ] || { echo "the build or the sources were changed"; exit 1; }
echo "8 tables that prove nothing are refused"

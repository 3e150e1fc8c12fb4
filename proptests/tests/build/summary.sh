#!/bin/sh
# The last lines of ./run test say what failed and why, and count.
set -eu
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cat >"$folder/ctest" <<'LINES'
  1/4 Test    #1: A.Passes .......................   Passed    0.41 sec
  2/4 Test    #2: B.Fails<double>/1 ..............***Failed    0.41 sec
  3/4 Test    #3: C.Ends .........................***Exception: SegFault  0.41 sec
  4/4 Test    #4: D.IsLeftOut ....................***Skipped   0.41 sec
LINES
log() { # NAME LINE...
  name=$1
  shift
  printf '1/4 Testing: %s\n1/4 Test: %s\nOutput:\n----------\n' "$name" "$name"
  printf '%s\n' "$@" '<end of output>' 'Test time =   0.41 sec'
}
{
  log A.Passes 'a line of the first'
  log 'B.Fails<double>/1' 1 2 3 4 5 6 7 8 9 10 11 12 'FAILED because of thirteen'
  log C.Ends 'the last words'
  log D.IsLeftOut 'D: Skipped' 'a reason'
} >"$folder/log"
sh cmake/summarize_tests.sh "$folder/ctest" "$folder/log" >"$folder/said"
has() { grep -q "$1" "$folder/said" || { cat "$folder/said"; echo "expected: $1"; exit 1; }; }
has '^skipped 1: a reason$'
has '^B.Fails<double>/1 failed; the last lines that it printed:$'
has '^  2$'
has '^  FAILED because of thirteen$'
has '^C.Ends failed; the last lines that it printed:$'
has '^  the last words$'
has '^1 passed, 2 failed, 1 skipped$'
if grep -q '^  1$\|a line of the first' "$folder/said"; then cat "$folder/said"; echo "expected the last 12 lines of failed tests alone"; exit 1; fi

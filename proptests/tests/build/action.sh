#!/bin/sh
# action.sh BUILD: what action.yml runs to judge a kernel, as it stands there, with its inputs' defaults: a right kernel and
# a wrong one.
set -eu
build=$(cd "$1" && pwd)
command -v bash >/dev/null 2>&1 || { echo "Skipped: no bash"; exit 77; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The last block is the step that judges; the lines above it name its variables and their inputs.
awk '/^      run: \|$/ { on = 1; next } on { print substr($0, 9) }' action.yml >"$work/judge.sh"
grep -q 'kernel "\$KERNEL"' "$work/judge.sh" || { echo "action.yml: found no step that judges"; exit 1; }
# default INPUT: as action.yml has it
default() { awk -v input="  $1:" '$0 == input { on = 1; next } on && /^    default:/ { sub(/^    default: */, ""); gsub(/"/, ""); print; exit } on && /^  [a-z]/ { exit }' "$root/action.yml"; }
awk '/^        [A-Z]+: \$\{\{ inputs\./ { name = $1; sub(/:/, "", name); input = $3; sub(/inputs\./, "", input); print name, input }' \
  action.yml >"$work/variables"
[ "$(wc -l <"$work/variables")" = "$(awk '/^inputs:/ { on = 1; next } /^runs:/ { on = 0 } on && /^  [a-z]/' action.yml | wc -l)" ] ||
  { echo "action.yml: an input is in no variable of the step that judges"; exit 1; }
mkdir -p "$work/action/build"
ln -s "$build" "$work/action/build/release"
cd "$work"
# judged STATUS KERNEL
judged() {
  set -- "$1" "$2" env GITHUB_ACTION_PATH="$work/action"
  while read -r name input; do set -- "$@" "$name=$(default "$input")"; done <variables
  want=$1 kernel=$2 status=0
  shift 2
  "$@" KERNEL="$kernel" EFFORT=quick bash -eo pipefail judge.sh >out 2>&1 || status=$?
  [ $status = "$want" ] || { cat out; echo "$kernel: need exit $want, got $status"; exit 1; }
  grep -qs '<testsuite' softcheck.xml || { echo "$kernel: no JUnit in softcheck.xml"; exit 1; }
  rm softcheck.xml
}
judged 0 "$build/kernels/libsoftcheck_zoo.so:correct_double"
judged 1 "$build/kernels/libsoftcheck_zoo.so:mutant_no_max_shift"

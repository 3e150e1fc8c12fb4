#!/bin/sh
# action.sh BUILD [PYTHON]: what action.yml runs, as it stands there, with its inputs' defaults and the variables of a runner:
# softcheck from a release and built, a right kernel, a wrong one, functions of Python, a model, and inputs that are text for
# a shell. No input stands in a line that a shell reads.
set -eu
build=$(cd "$1" && pwd)
python=${2:-python3}
command -v bash >/dev/null 2>&1 || { echo "Skipped: no bash"; exit 77; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "action.yml: $*"; exit 1; }

# An expression is the whole value of a key other than run. A matrix is written in the file that uses it.
inside=$(sed 's/\${{ matrix\.[a-z]* }}//g' action.yml .github/workflows/*.yml | grep '\${{' | grep -v -E '^ +[A-Za-z_-]+: \$\{\{ [A-Za-z_.-]+ \}\}$|run:' || :)
inside="$inside$(sed 's/\${{ matrix\.[a-z]* }}//g' action.yml .github/workflows/*.yml | grep 'run:.*\${{' || :)"
[ -z "$inside" ] || fail "an expression stands inside a text: $inside"

# step NUMBER: the lines that this step gives to bash
step() { awk -v want="$1" '/^      run: \|/ { on = ++seen == want; next } !/^        / { on = 0 } on { print substr($0, 9) }' action.yml; }
step 1 >"$work/fetch.sh"
step 2 >"$work/build.sh"
step 3 >"$work/judge.sh"
grep -q 'kernel "\$KERNEL"' "$work/judge.sh" || fail "found no step that judges"
# default INPUT: as action.yml has it
default() { awk -v input="  $1:" '$0 == input { on = 1; next } on && /^    default:/ { sub(/^    default: */, ""); gsub(/"/, ""); print; exit } on && /^  [a-z]/ { exit }' "$root/action.yml"; }
awk '/^        [A-Z_]+: \$\{\{ inputs\./ { name = $1; sub(/:/, "", name); input = $3; sub(/inputs\./, "", input); print name, input }' \
  action.yml | sort -u >"$work/variables"
[ "$(wc -l <"$work/variables")" = "$(awk '/^inputs:/ { on = 1; next } /^[a-z]/ { on = 0 } on && /^  [a-z]/' action.yml | wc -l)" ] ||
  fail "an input is in no variable of the step that judges"
mkdir -p "$work/an action/build" "$work/workspace"
ln -s "$build" "$work/an action/build/release"
cp "$root/run" "$root/CMakeLists.txt" "$work/an action/"
cd "$work/workspace"
# as_runner COMMAND...: with what a runner sets, in the folder that it begins in
as_runner() {
  rm -f ../output ../summary
  : >../output
  : >../summary
  env HOME="$work/home" PATH="$work/bin:$PATH" GITHUB_SERVER_URL=https://server GITHUB_ACTIONS=true GITHUB_WORKSPACE="$PWD" GITHUB_ACTION_PATH="$work/an action" GITHUB_OUTPUT="$work/output" \
    GITHUB_STEP_SUMMARY="$work/summary" "$@" >../out 2>&1
}
# A release's wheel is taken as it is, and nothing is built then. Without one there is a key for a cache, which follows the sources.
mkdir -p ../bin ../wheel/softcheck/bin ../home
printf '#!/bin/sh\necho "$*" >>"%s/asked"\ncp "%s/wheel.zip" "$3" 2>/dev/null\n' "$work" "$work" >../bin/curl
chmod +x ../bin/curl
key() {
  as_runner REPOSITORY=owner/softcheck REF="$1" bash -eo pipefail ../fetch.sh || { cat ../out; fail "the step that fetches fails"; }
  sed -n 's/^key=//p' ../output
}
before=$(key '')
[ -n "$before" ] && [ ! -e ../asked ] || fail "without a version: need a key and no question, got '$before'"
[ "$(key v1)" = "$before" ] || fail "the key changes by itself"
grep -q "https://server/owner/softcheck/releases/download/v1/softcheck-[0-9.]*-py3-none-manylinux_2_27_$(uname -m).whl\$" ../asked || fail "asks $(cat ../asked)"
echo change >>"$work/an action/CMakeLists.txt"
[ "$(key v1)" != "$before" ] || fail "the key does not follow the sources"
echo 'echo released' >../wheel/softcheck/bin/softcheck
(cd ../wheel && python3 -m zipfile -c ../wheel.zip softcheck)
[ -z "$(key v1)" ] || fail "looks into a cache in spite of the release"
as_runner bash -eo pipefail ../build.sh && [ ! -s ../out ] || { cat ../out; fail "builds in spite of the release"; }
rm -r ../home ../wheel.zip
# The step that builds calls ./run of the action's folder: it has a verb of that name.
sed -i 's/^command_alone() {/command_alone() { echo "builds in $PWD"; return;/' "$work/an action/run"
as_runner bash -eo pipefail ../build.sh || { cat ../out; fail "the step that builds fails"; }
grep -qx "builds in $work/an action" ../out || { cat ../out; fail "the step that builds is not ./run command of the action's folder"; }
as_runner bash -eo pipefail ../build.sh && [ ! -s ../out ] || { cat ../out; fail "builds what the cache has"; }
# Functions need the Python package: a wheel, in a cache of its own.
[ "$(key '')" != "$(FUNCTIONS=f key '')" ] || fail "the cache of the command is that of the package"
rm -r ../home
mkdir -p ../home "$work/an action/build/wheels"
(cd ../wheel && python3 -m zipfile -c "$work/an action/build/wheels/softcheck-0-py3-none-manylinux_2_27_$(uname -m).whl" softcheck)
sed -i 's/^wheel() {/wheel() { echo "makes a wheel"; return;/' "$work/an action/run"
FUNCTIONS=f as_runner bash -eo pipefail ../build.sh && [ "$(cat ../out)" = 'makes a wheel' ] && [ -x ../home/.cache/softcheck/softcheck/bin/softcheck ] ||
  { cat ../out; fail "does not make and unpack a wheel for functions"; }
rm -r ../home
as_runner bash -eo pipefail ../build.sh || { cat ../out; fail "the step that builds fails"; }

# judged STATUS VERDICT KERNEL [VARIABLE=VALUE...]
judged() {
  want=$1 verdict=$2 kernel=$3 status=0
  shift 3
  while read -r name input; do set -- "$name=$(default "$input")" "$@"; done <../variables
  as_runner "$@" KERNEL="$kernel" EFFORT=quick bash -eo pipefail ../judge.sh || status=$?
  [ $status = "$want" ] || { cat ../out; fail "$kernel: need exit $want, got $status"; }
  [ "$(cat ../output)" = "verdict=$verdict" ] || { cat ../output; fail "$kernel: need the output $verdict"; }
  head -n 1 ../summary | grep -qx "### softcheck: $verdict" || { cat ../summary; fail "$kernel: no verdict in the summary"; }
  [ "$(sed '1,2d; $d' ../summary | sed 's/&lt;/</g; s/&amp;/\&/g')" = "$(cat ../out)" ] || { cat ../summary; fail "$kernel: the summary is not what was said"; }
  [ "$(grep -c '<' ../summary)" = 2 ] || { cat ../summary; fail "$kernel: the summary has marks of its own"; }
}
zoo=$build/kernels/libsoftcheck_zoo.so
for each in '0 pass correct_double' '1 fail mutant_no_max_shift'; do
  # shellcheck disable=SC2086 # three words
  set -- $each
  judged "$1" "$2" "$zoo:$3" DOMAIN='theta=1 n<=8192' CONTRACT='acc=f32 exp=1ulp'
  grep -qs '<testsuite' softcheck.xml || fail "$3: no JUnit in softcheck.xml"
  rm softcheck.xml
done
# Functions: the package as a wheel has it, with the build's library.
if $python -c 'import numpy' 2>/dev/null; then
  cp -r "$root/python/softcheck/." ../home/.cache/softcheck/softcheck/
  mkdir ../home/.cache/softcheck/softcheck/lib
  cp "$build/libsoftcheck.so" ../home/.cache/softcheck/softcheck/lib/
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$python")" >../bin/python3
  chmod +x ../bin/python3
  printf '%s\n' 'import numpy as np' 'def right(x):' '    e = np.exp(x - x.max(-1, keepdims=True))' \
    '    return e / e.sum(-1, keepdims=True)' 'def wrong(x):' '    e = np.exp(x)' '    return e / e.sum(-1, keepdims=True)' >mine.py
  judged 0 pass "" FUNCTIONS='mine:right=softmax' DOMAIN='n<=64 n>=1 rows<=8'
  judged 1 fail "" FUNCTIONS='mine:right=softmax
mine:wrong=softmax' DOMAIN='n<=64 n>=1 rows<=8'
  [ "$(grep -c '<testsuite ' softcheck.xml)" = 2 ] || fail "softcheck.xml has not both functions"
  judged 2 error "" FUNCTIONS='mine:right'
  # shellcheck disable=SC2016 # text for a shell, which no shell reads
  judged 2 error "" FUNCTIONS='$(touch read) * ; touch read'
  printf '#!/bin/sh\nexit 1\n' >../bin/python3
  judged 2 error "" FUNCTIONS='mine:right=softmax'
  grep -qx 'functions: need a python3 with NumPy: pip install numpy' ../out || { cat ../out; fail "does not say that NumPy is missing"; }
  rm ../bin/python3
else
  echo "no NumPy for $python: functions are not judged"
fi
model=$root/proptests/tests/models/checkpoints/gpt2
judged 0 pass "" MODEL="$model"
judged 1 fail "" MODEL="$model" FAIL_IF='logit.f16 > 0'
# shellcheck disable=SC2016 # text for a shell, which no shell reads
text='$(touch read)`touch read`; touch read; "'"'"
judged 2 error "$text"
judged 2 error "" MODEL="$text"
for variable in OP DTYPE CONTRACT DOMAIN; do judged 2 error "$zoo:correct_double" "$variable=$text"; done
judged 1 fail "$zoo:mutant_no_max_shift" JUNIT="$text"
[ -s "$text" ] || fail "no JUnit in a file of an odd name"
[ ! -e read ] || fail "a shell read an input"
echo "a right kernel passes, a wrong one is red, and no input is read by a shell"

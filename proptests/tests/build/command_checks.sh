# What the scripts that try the command share: sets scratch, a folder that goes with the script, and failures. The command
# is $softcheck.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

complain() {
  echo "FAILED: $*"
  sed 's/^/  out: /' "$scratch/out" | tail -n 5
  sed 's/^/  err: /' "$scratch/err" | tail -n 5
  failures=$((failures + 1))
}

# expect CODE ARGUMENTS...: the exit code
expect() {
  code=$1
  shift
  "$softcheck" "$@" >"$scratch/out" 2>"$scratch/err"
  got=$?
  test "$got" = "$code" || complain "exit $got instead of $code: softcheck $*"
}

# refuses CODE TEXT ARGUMENTS...: the exit code, and one line on standard error that says TEXT
refuses() {
  text=$2
  code=$1
  shift 2
  expect "$code" "$@"
  test "$(wc -l <"$scratch/err")" = 1 || complain "not one line on standard error: softcheck $*"
  grep -q -e "^softcheck: .*$text" "$scratch/err" || complain "the line does not say '$text': softcheck $*"
}

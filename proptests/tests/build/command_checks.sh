# What the scripts that try the command share: sets scratch, a folder that goes with the script, and failures. The command
# is $softcheck. A failure shows the command, what was expected and the end of what it said.
. "$(dirname "$0")/file_bytes.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
asked=
: >"$scratch/out"
: >"$scratch/err"

complain() {
  echo "FAILED: $*"
  test -z "$asked" || echo "  \$ softcheck $asked"
  sed 's/^/  out: /' "$scratch/out" | tail -n 5
  sed 's/^/  err: /' "$scratch/err" | tail -n 5
  failures=$((failures + 1))
}

# expect CODE ARGUMENTS...: the exit code
expect() {
  code=$1
  shift
  asked="$*"
  PATH=${path:-$PATH} "$softcheck" "$@" >"$scratch/out" 2>"$scratch/err"
  got=$?
  test "$got" = "$code" || complain "expected exit $code, got $got"
}

# answers CODE TEXT ARGUMENTS...: the exit code, and that the output says TEXT
answers() {
  text=$2
  code=$1
  shift 2
  expect "$code" "$@"
  says "$text"
}

# refuses CODE TEXT ARGUMENTS...: the exit code, and one line on standard error that says TEXT
refuses() {
  text=$2
  code=$1
  shift 2
  expect "$code" "$@"
  test "$(wc -l <"$scratch/err")" = 1 || complain "expected one line on standard error, got $(wc -l <"$scratch/err")"
  grep -q -e "^softcheck: .*$text" "$scratch/err" || complain "expected on standard error 'softcheck: ...$text'"
}

# without_gnuplot ARGUMENTS...: what is drawn without the program that draws has its data, and exit code 4
without_gnuplot() {
  path=/nonexistent
  expect 4 "$@"
  path=
}

# holds FILE TEXT, lacks FILE TEXT; the same of what the last command printed
holds() { grep -q -e "$2" "$1" || complain "expected in ${1#"$scratch/"}: '$2'"; }
lacks() { ! grep -q -e "$2" "$1" || complain "expected not to be in ${1#"$scratch/"}: '$2'"; }
says() { holds "$scratch/out" "$1"; }
says_not() { lacks "$scratch/out" "$1"; }

# From here on the command comes back within a minute, which a loaded machine may take for a second, whatever it reads.
within_seconds() {
  printf '#!/bin/sh\nexec timeout -s KILL 60 "%s" "$@"\n' "$softcheck" >"$scratch/within_seconds"
  chmod +x "$scratch/within_seconds"
  softcheck_itself=$softcheck softcheck=$scratch/within_seconds
}

#!/bin/sh
# Output that is lost, and limits of the process that are too small: one line that says so and an exit code, no signal.
#   lost_output.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
softcheck=$1
mutants=$2/libsoftcheck_zoo.so
. "$(dirname "$0")/command_checks.sh"

# exits CODE COMMANDS: of a shell
exits() {
  asked="in: $2"
  sh -c "$2" >"$scratch/out" 2>"$scratch/err"
  got=$?
  test "$got" = "$1" || complain "expected exit $1, got $got"
}
lost() { holds "$scratch/err" '^softcheck: standard output is lost: '; }

if test -c /dev/full; then
  for verb in version --help 'kernel --help' 'test --list' 'test --filter Lemma21 --cases 2'; do
    exits 2 "'$softcheck' $verb >/dev/full"
    lost "$verb"
    exits 2 "'$softcheck' $verb >&-"
    lost "$verb"
  done
  # A verdict is kept; a report in a file makes up for the terminal's; a report that is asked for and missing is no pass.
  exits 1 "'$softcheck' kernel '$mutants:mutant_no_max_shift' --effort quick >/dev/full"
  lost 'a failing kernel'
  exits 2 "'$softcheck' kernel '$mutants:correct_two_pass' --effort quick --cases 5 >/dev/full"
  exits 0 "'$softcheck' kernel '$mutants:correct_two_pass' --effort quick --cases 5 --json '$scratch/report.json' >/dev/full"
  test -s "$scratch/report.json" || complain "no report beside a full terminal"
  exits 2 "'$softcheck' kernel '$mutants:correct_two_pass' --effort quick --cases 5 --json /dev/full >/dev/null"
  holds "$scratch/err" '^softcheck: --json: '
  exits 1 "'$softcheck' kernel '$mutants:mutant_no_max_shift' --effort quick --json /dev/full >/dev/null"
  exits 2 "'$softcheck' kernel nosuch 2>/dev/full"
fi
exits 2 "'$softcheck' kernel nosuch 2>&-"
exits 2 "'$softcheck' kernel nosuch <&- >&- 2>&-"
# Closed streams are not taken for files: the kernel's process works as ever.
exits 1 "'$softcheck' kernel '$mutants:mutant_no_max_shift' --effort quick <&- >&- 2>&-"
exits 2 "{ '$softcheck' test --list; echo \$? >'$scratch/code'; } | true; exit \$(cat '$scratch/code')"

# Limits name themselves.
limited() {
  exits 4 "ulimit $1; '$softcheck' $3"
  holds "$scratch/err" "^softcheck: .*$2"
}
limited '-s 64' '(ulimit -s)' version
limited '-n 5' '(ulimit -n)' "kernel '$mutants:correct_two_pass' --effort quick"
limited '-v 200000' '(ulimit -v)' "kernel '$mutants:correct_two_pass' --effort quick"
exits 2 "ulimit -f 0; '$softcheck' version >'$scratch/none'"

test "$failures" = 0

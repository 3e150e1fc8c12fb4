#!/bin/sh
# The softcheck command answers right and wrong input as docs/design.md says: one clear line and its exit code.
#   cli.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
softcheck=$1
mutants=$2/libsoftcheck_mutants.so
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

# says TEXT: the last command's output holds it
says() { grep -q -e "$1" "$scratch/out" || complain "the output does not say '$1'"; }

expect 0 version
says '^softcheck [0-9]'
expect 0 --help
says 'Exit codes'
expect 0 kernel --help
says '--contract'
refuses 2 'verb'
refuses 2 "verb.*'prove'" prove
refuses 2 'no-such-flag' kernel "$mutants:correct_two_pass" --no-such-flag
refuses 2 'no-such-flag' test --no-such-flag
refuses 2 'kernel' kernel

# What cannot be loaded.
printf 'text, not code\n' >"$scratch/text.so"
: >"$scratch/empty.so"
refuses 2 'no such file' kernel "$scratch/missing.so:f"
refuses 2 'LIB:SYMBOL' kernel "$mutants"
refuses 3 'not a loadable library' kernel "$scratch/text.so:f"
refuses 3 'not a loadable library' kernel "$scratch/empty.so:f"
refuses 3 'not a loadable library' kernel "$scratch:f"
refuses 4 "no symbol 'no_such_symbol'" kernel "$mutants:no_such_symbol"

# Flags that are wrong say what exists.
refuses 2 '--op: .*logsumexp' kernel "$mutants:correct_two_pass" --op softmin
refuses 2 '--dtype: .*bf16' kernel "$mutants:correct_two_pass" --dtype e4m3
refuses 2 '--dtype: .*bf16' kernel "$mutants:correct_two_pass" --dtype float
refuses 2 '--contract: .*masked=zero|nan|uniform' kernel "$mutants:correct_two_pass" --contract 'speed=high'
refuses 2 '--contract: .*lanes:K' kernel "$mutants:correct_two_pass" --contract 'sum=lanes:0'
refuses 2 '--contract' kernel "$mutants:correct_two_pass" --contract 'acc=f32 acc=f32'
refuses 2 '--require: .*batch-invariant' kernel "$mutants:correct_two_pass" --require fast
refuses 2 '--cases' kernel "$mutants:correct_two_pass" --cases 0
refuses 2 '--cases' test --cases -1
refuses 2 '--seed' test --seed one
refuses 2 '--max-length' kernel "$mutants:correct_two_pass" --max-length 0
refuses 2 '--time-limit' kernel "$mutants:correct_two_pass" --time-limit 1e300
refuses 2 '--json' kernel "$mutants:correct_two_pass" --json "$scratch/none/report.json"
refuses 2 '--junit' test --junit "$scratch"
test ! -e "$scratch/none" || complain "something was left behind"

# Cases that are asked for.
value=Kernel.EveryValueLiesWithinItsThreshold
refuses 3 '--replay' kernel "$mutants:correct_two_pass" --replay nonsense
refuses 3 "--replay: .*$value" kernel "$mutants:correct_two_pass" --replay 'Kernel.None row f32 theta=0x1p+0 0x0p+0'
refuses 3 '--replay' kernel "$mutants:correct_two_pass" --replay "$value row f32 warm 0x0p+0"
refuses 3 '--replay: .*dtype' kernel "$mutants:correct_two_pass" --replay "$value row f64 theta=0x1p+0 0x0p+0"
refuses 3 '--replay' kernel "$mutants:correct_two_pass" --replay "$value row f32 theta=0x1p+0 0x0p+0*9000000000"
expect 0 kernel "$mutants:correct_two_pass" --replay "$value row f32 theta=0x1p+0 0x0p+0*3"
refuses 2 '--filter' test --filter no_property_is_called_so
refuses 2 '--filter' test --replay 'row f32 theta=0x1p+0 0x0p+0'
printf 'no corpus\n' >"$scratch/corpus"
refuses 3 '--corpus' test --filter Lemma21 --corpus "$scratch/corpus"
refuses 2 '--corpus' test --filter Lemma21 --corpus "$scratch/none"

# Every verdict has its code.
expect 0 kernel "$mutants:correct_two_pass" --cases 20
says '^pass: '
expect 1 kernel "$mutants:mutant_no_max_shift"
says '^fail: '
expect 4 kernel "$mutants:mutant_refuses_everything" --cases 5
says '^refused: '
expect 5 kernel "$mutants:correct_two_pass" --cases 20 --contract acc=bf16
says '^vacuous: '
expect 6 kernel "$mutants:mutant_crashes" --cases 5
says 'Segmentation fault'
expect 7 kernel "$mutants:mutant_hangs" --cases 5 --time-limit 0.2
says '^timeout: '

# A failure tells its row, what was expected and got, and a line that replays it.
expect 1 kernel "$mutants:mutant_exp_coefficient_perturbed" --json "$scratch/report.json" --junit "$scratch/report.xml"
says 'row f32 theta=0x1.* item=[0-9]* expected=\[0x1.*,0x1.*\] got=0x1.* error=[0-9.]*ulp(f32)'
says 'times the threshold'
grep -q '"verdict": *"fail"' "$scratch/report.json" || complain "no verdict in the JSON report"
grep -q '<failure' "$scratch/report.xml" || complain "no failure in the JUnit report"
sed -n 's/^ *replay: softcheck //p' "$scratch/out" | head -n 1 >"$scratch/replay"
test -s "$scratch/replay" || complain "no replay line"
sh -c "'$softcheck' $(cat "$scratch/replay")" >"$scratch/out" 2>"$scratch/err"
test $? = 1 || complain "the replay line does not fail: $(cat "$scratch/replay")"
says 'got=0x1'

# Plain text where it is piped, and the verdict of the claims.
expect 0 test --filter Lemma21 --cases 2
says '^pass: '
if grep -q "$(printf '\033')" "$scratch/out"; then complain "colour in a pipe"; fi
expect 0 test --list
says 'Lemma21'

test "$failures" = 0

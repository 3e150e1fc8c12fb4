#!/bin/sh
# The softcheck command answers right and wrong input as docs/design.md says: one clear line and its exit code.
#   cli.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
softcheck=$1
mutants=$2/libsoftcheck_zoo.so
. "$(dirname "$0")/command_checks.sh"

answers 0 '^softcheck [0-9]' version
test ! -s "$scratch/err" || complain "something is said on standard error"
answers 0 '^softcheck [0-9]' --version
answers 0 'Exit codes' --help
expect 0 kernel --help
says '--contract'
says '--infer'
says '--certify'
says 'adaptive_softmax'
refuses 2 'verb'
refuses 2 "verb.*'prove'" prove
refuses 2 'no-such-flag' kernel "$mutants:correct_two_pass" --no-such-flag
refuses 2 'no-such-flag' test --no-such-flag
refuses 2 'kernel' kernel

# No option is lost, and no default or range changed, unseen.
sh "$(dirname "$0")/options.sh" "$softcheck" >"$scratch/options" 2>&1 || complain "$(cat "$scratch/options")"

# What cannot be loaded.
printf 'text, not code\n' >"$scratch/text.so"
: >"$scratch/empty.so"
refuses 2 'no such file' kernel "$scratch/missing.so:f"
refuses 2 'LIB:SYMBOL' kernel "$mutants"
refuses 3 'not a loadable library' kernel "$scratch/text.so:f"
refuses 3 'not a loadable library' kernel "$scratch/empty.so:f"
refuses 3 'not a loadable library' kernel "$scratch:f"
refuses 4 "no symbol 'no_such_symbol'" kernel "$mutants:no_such_symbol"
refuses 4 "no symbol 'no_such_symbol'" kernel "$mutants:no_such_symbol" --infer
refuses 2 'LIB:SYMBOL' kernel "$mutants:"
printf '#include <stdlib.h>\n__attribute__((constructor)) void begin(void) { abort(); }\n' >"$scratch/aborting.c"
"${CC:-cc}" -shared -fPIC -o "$scratch/aborting.so" "$scratch/aborting.c" || complain "no C compiler"
refuses 6 'died while loading: signal 6' kernel "$scratch/aborting.so:f"

# A kernel of another version of the ABI refuses every call, as it is told to.
printf '#include "kernels/abi/softcheck_kernel.h"\nint f(const softcheck_call* c) { return c->abi_version == 2 ? 0 : 1; }\n' \
  >"$scratch/later.c"
"${CC:-cc}" -I. -shared -fPIC -o "$scratch/later.so" "$scratch/later.c" || complain "the ABI's header does not compile"
expect 4 kernel "$scratch/later.so:f" --effort quick
says '^refused: '
says 'every call was refused'
answers 4 '^refused: no standard contract fits: every call was refused' kernel "$scratch/later.so:f" --effort quick --infer
# What such a kernel may have waited for, and not every kind of call in a line of its own.
kernels=$(dirname "$mutants")/libsoftcheck_cpu_kernels.so
expect 4 kernel "$kernels:softcheck_attention_varlen" --op attention --effort quick --verbose
says '^ *refused calls of all [0-9]* kinds, the first for out'
says '^ *a kernel of packed sequences needs the domain packed, one of pages the domain pages$'
says_not '^ *refused 16 calls'
answers 4 '^ *calls of this op have abi_version 2: they are a softcheck_call_2$' kernel "$mutants:correct_two_pass" --op topk_softmax --effort quick

# Flags that are wrong say what exists.
refuses 2 '--op: .*logsumexp' kernel "$mutants:correct_two_pass" --op softmin
refuses 2 '--dtype: .*e4m3' kernel "$mutants:correct_two_pass" --dtype e3m4
refuses 2 '--dtype: .*bf16' kernel "$mutants:correct_two_pass" --dtype float
refuses 2 '--contract: .*masked=zero|nan|uniform' kernel "$mutants:correct_two_pass" --contract 'speed=high'
refuses 2 '--contract: .*lanes:K' kernel "$mutants:correct_two_pass" --contract 'sum=lanes:0'
refuses 2 '--contract' kernel "$mutants:correct_two_pass" --contract 'acc=f32 acc=f32'
refuses 2 '--contract: .*sum=sequential|lanes:K|blocks:K|tree' kernel "$mutants:correct_two_pass" --contract 'sum=fast'
refuses 2 '--contract: .*subnormal=flushed|kept' kernel "$mutants:correct_two_pass" --contract 'precise'
refuses 2 '--out-dtype: .*f32 or f16' kernel "$mutants:correct_logsumexp" --op logsumexp --dtype f16 --out-dtype f64
refuses 2 '--out-dtype: .*bf16' kernel "$mutants:correct_two_pass" --out-dtype half
refuses 2 '--effort: .*quick, default, deep or exhaustive' kernel "$mutants:correct_two_pass" --effort most
refuses 2 '--effort: exhaustive needs one of the ops softmax, log_softmax, logsumexp, entropy, attention, got adaptive_softmax' \
  kernel "$mutants:correct_adaptive" --op adaptive_softmax --effort exhaustive
refuses 2 '--resume: need --effort exhaustive' kernel "$mutants:correct_two_pass" --resume "$scratch/state"
# A name that leaves no room for the process's number behind it: such a file can be neither written nor removed.
long=$(printf '%0253d' 0)
refuses 3 '--resume: need a file that can be written, got' kernel "$mutants:correct_two_pass" --dtype e4m3 --effort exhaustive --resume "$scratch/$long"
refuses 3 '--resume: need a file of an exhaustive judgement' kernel "$mutants:correct_two_pass" --effort exhaustive --resume "$scratch/text.so"
refuses 2 '--effort: exhaustive judges by a contract' kernel "$mutants:correct_two_pass" --effort exhaustive --infer
refuses 2 '--effort: exhaustive asks for each row once' \
  kernel "$mutants:correct_two_pass" --effort exhaustive --require deterministic
refuses 2 '--infer.*--contract' kernel "$mutants:correct_two_pass" --infer --contract 'acc=f32'
refuses 2 '--infer.*--replay' kernel "$mutants:correct_two_pass" --infer --replay "x row"
refuses 2 '--in-place' kernel "$mutants:correct_logsumexp" --op logsumexp --in-place
refuses 2 '--require: .*deterministic, batch-invariant, in-place or in-place=out_gradient' kernel "$mutants:correct_two_pass" --require fast
refuses 2 '--require' kernel "$mutants:correct_two_pass" --require 'deterministic,'
refuses 2 '--cases' kernel "$mutants:correct_two_pass" --cases 0
refuses 2 '--cases' test --cases -1
refuses 2 '--seed' test --seed one
refuses 2 '--max-length' kernel "$mutants:correct_two_pass" --max-length 0
refuses 2 '--time-limit' kernel "$mutants:correct_two_pass" --time-limit 1e300
for seconds in nan inf 0 -1; do refuses 2 '--time-limit' kernel "$mutants:correct_two_pass" --time-limit $seconds; done
refuses 2 '--load-limit' kernel "$mutants:correct_two_pass" --load-limit nan
refuses 2 '--budget' kernel "$mutants:correct_two_pass" --budget 0
refuses 2 '--isolation: need full or process' kernel "$mutants:correct_two_pass" --isolation none
refuses 2 '--memory-limit' kernel "$mutants:correct_two_pass" --memory-limit nan
refuses 2 '--memory-limit' kernel "$mutants:correct_two_pass" --memory-limit 1e300
refuses 2 '--json' kernel "$mutants:correct_two_pass" --json "$scratch/none/report.json"
refuses 2 '--junit' test --junit "$scratch"
test ! -e "$scratch/none" || complain "something was left behind"

# What is known when the time is up, or the user says so; and a failure that is known by then.
expect 5 kernel "$mutants:correct_two_pass" --effort deep --budget 1
says '^undecided: the time budget was spent'
says 'not tried: Kernel.EveryValueLiesWithinItsThreshold, cases after the first'
expect 1 kernel "$mutants:mutant_returns_zeros" --effort deep --budget 1
"$softcheck" kernel "$mutants:mutant_hangs" --time-limit 600 >"$scratch/out" 2>"$scratch/err" &
running=$!
sleep 1
kill -TERM $running
wait $running
test $? = 5 || complain "a judgement that its user ends does not exit with 5"
says '^undecided: interrupted'

# Kernels that attack the judge: it is there to say so.
expect 1 kernel "$2/libsoftcheck_intruders.so:mutant_forges_by_ptrace" --effort quick --cases 20
expect 7 kernel "$2/libsoftcheck_intruders.so:mutant_leaves_its_process_group" --effort quick --time-limit 1
answers 0 "isolation: a process of its own with the judge's rights" kernel "$mutants:correct_two_pass" --effort quick --isolation process --verbose

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
refuses 2 '--processes' test --processes 0
# Who does the work is no matter, but for the seconds at the lines' ends.
for processes in 1 3; do
  expect 0 test --filter Lemma21 --cases 20 --processes $processes
  sed 's/ *[0-9.]*$//' "$scratch/out" >"$scratch/by_$processes"
done
cmp -s "$scratch/by_1" "$scratch/by_3" || complain "three processes report other results than one"
answers 0 '^pass: [0-9]* claims, [0-9]* decisions, 0 claims did not hold (seed [0-9]*, 100 cases each)$' test --filter Lemma21

# Every verdict has its code, and a kernel is judged at default effort.
answers 0 '^pass: ' kernel "$mutants:correct_two_pass" --cases 20
answers 1 '^fail: ' kernel "$mutants:mutant_no_max_shift" --effort quick
answers 4 '^refused: ' kernel "$mutants:mutant_refuses_everything" --cases 5 --effort quick
answers 5 '^vacuous: ' kernel "$mutants:correct_two_pass" --cases 20 --contract acc=bf16 --effort quick
answers 6 'Segmentation fault' kernel "$mutants:mutant_crashes" --cases 5 --effort quick
answers 7 '^timeout: ' kernel "$mutants:mutant_hangs" --cases 5 --time-limit 0.2 --effort quick

# A failure tells its row, what was expected and got, and a line that replays it.
# replays CODE: the one line that the last output holds, and its exit code
replays() {
  test "$(grep -c '^ *replay: softcheck' "$scratch/out")" = 1 || complain "not one replay line"
  sed -n 's/^ *replay: softcheck //p' "$scratch/out" >"$scratch/replay"
  sh -c "'$softcheck' $(cat "$scratch/replay")" >"$scratch/out" 2>"$scratch/err"
  test $? = "$1" || complain "the replay line does not exit with $1: $(cat "$scratch/replay")"
}
expect 1 kernel "$mutants:mutant_exp_coefficient_perturbed" --effort quick --json "$scratch/report.json" --junit "$scratch/report.xml"
says '^ *Kernel\.[A-Za-z]* fails on [1-8] logit'
says '^ *row f32 theta=0x1.* item=[0-9]*'
says '^ *expected \[0x1.*,0x1.*\] (0\.[0-9]*)$'
says '^ *got      0x1.* (0\.[0-9]*)$'
says '^ *error    [0-9.]*ulp(f32), [0-9.]* times the threshold of \['
says '^fail: kernel.softmax.element does not hold on [1-8] logit'
holds "$scratch/report.json" '"verdict": *"fail"'
holds "$scratch/report.xml" '<failure'
replays 1
says 'got      0x1'
says '^fail: .* (one case replayed)'

# A replay asks again for all that the first call asked for.
expect 1 kernel "$mutants:mutant_not_batch_invariant" --require batch-invariant --effort quick --contract exp=2ulp
says "replay: .*--contract 'exp=2ulp' --require batch-invariant --replay"
replays 1

expect 1 kernel "$mutants:mutant_in_place_read_after_write" --in-place --effort quick
says 'replay: .*--require in-place --replay .Kernel.TheOutputMayBeTheInput'
replays 1
answers 0 'logsumexp f16 -> f16' kernel "$mutants:correct_logsumexp" --op logsumexp --dtype f16 --out-dtype f16 --effort quick

# Below a failure the claims that pass have their names alone; what was not tried, and what kept the kernel, with --verbose.
expect 1 kernel "$mutants:mutant_no_max_shift" --effort quick --json "$scratch/report.json"
says '^  pass: kernel.*, kernel.stays_inside$'
says '^ *largest called: rows [0-9]*.* (not tried: up to '
says_not '^ *not tried: '
says_not '^ *isolation: '
holds "$scratch/report.json" 'isolation: '
holds "$scratch/report.json" '"not_tried"'
expect 1 kernel "$mutants:mutant_no_max_shift" --effort quick --verbose
says '^ *not tried: '
says '^ *isolation: '
says '^  kernel.stays_inside  *[0-9]'

# A pass tells how close it was, too, and the effort it is worth.
answers 0 '^pass: .*quick effort' kernel "$mutants:correct_two_pass" --effort quick --json "$scratch/report.json"
for text in worst_ulps bias_ulps largest_share; do holds "$scratch/report.json" "\"$text\": *-*[0-9]"; done
says 'worst ulp *allowed *bias ulp'

# A contract is found where there is one, with what it rests on and the command that judges by it.
expect 0 kernel "$mutants:correct_pairwise" --effort quick --infer
says 'acc=f32 (measured): acc=f64 allows too little'
says 'sum=tree (held)'
says '(assumed)'
says "^pass, as f32's own arithmetic allows: .*'acc=f32 exp=1ulp sum=tree masked=nan"
sh -c "'$softcheck' $(sed -n 's/^softcheck //p' "$scratch/out") --effort quick" >"$scratch/out" 2>"$scratch/err" ||
  complain "the command that --infer prints does not pass"
# Two grades of a pass: --strict takes the second for none.
expect 0 kernel "$mutants:attention_correct_narrow_weights" --op attention --effort quick --infer --domain 'keys<=40'
says '^pass only as weights=bf16 ([0-9]* of [0-9]* rows need it'
expect 5 kernel "$mutants:attention_correct_narrow_weights" --op attention --effort quick --infer --strict --domain 'keys<=40'
refuses 2 '--strict: need --infer' kernel "$mutants:correct_two_pass" --strict
answers 1 '^fail: no standard contract fits: even' kernel "$mutants:mutant_drops_tail" --effort quick --infer
answers 6 '^crash: no standard contract fits: a call did not return' kernel "$mutants:mutant_crashes" --effort quick --infer
"$softcheck" kernel "$mutants:correct_two_pass" --dtype f64 --infer --budget 0.5 >"$scratch/out" 2>&1
says_not 'no standard contract fits: the time'

# Plain text where it is piped, and the verdict of the claims.
answers 0 '^pass: ' test --filter Lemma21 --cases 2
says_not "$(printf '\033')"
answers 0 'Lemma21' test --list

# A network from a seed: the same file twice, nothing beside it, and no file where something is wrong.
refuses 2 'run: need survivors, ' run
refuses 2 'nothing' run nothing
mkdir "$scratch/models"
expect 0 run train --steps 20 --sets 8 --out "$scratch/models/a"
expect 0 run train --steps 20 --sets 8 --out "$scratch/models/b"
cmp -s "$scratch/models/a" "$scratch/models/b" || complain "the same seed gave two networks"
refuses 2 '--decay' run train --out "$scratch/models/c" --decay weights
refuses 2 '--out' run train --out "$scratch/none/c"
refuses 2 '--largest-set' run train --out "$scratch/models/c" --smallest-set 9 --largest-set 3
cp "$scratch/models/a" "$scratch/models/c.checkpoint"
refuses 3 'adam.first.item_1.weight' run train --steps 20 --sets 8 --out "$scratch/models/c"
rm "$scratch/models/c.checkpoint"
test "$(ls "$scratch/models" | tr '\n' ' ')" = 'a b ' || complain "files are left: $(ls "$scratch/models")"

# Several seeds into a folder: the files of single trainings; what is there stays, and what is foreign is not passed over.
mkdir "$scratch/seeds"
refuses 2 '--out: need a folder' run train --steps 20 --sets 8 --seeds 2 --out "$scratch/none"
expect 0 run train --steps 20 --sets 8 --seeds 2 --out "$scratch/seeds"
cmp -s "$scratch/models/a" "$scratch/seeds/seed-01.safetensors" || complain "--seeds gave another network"
answers 0 '^all 2 networks are in ' run train --steps 20 --sets 8 --seeds 2 --out "$scratch/seeds"
refuses 3 'made with' run train --steps 21 --sets 8 --seeds 2 --out "$scratch/seeds"
test "$(ls "$scratch/seeds" | tr '\n' ' ')" = 'seed-01.safetensors seed-02.safetensors ' ||
  complain "files are left: $(ls "$scratch/seeds")"

# Tables: of networks that learned nothing the paper's claims fail, and the table says so. Without gnuplot, which draws
# them, the exit code is that of what is missing.
drawn() { command -v gnuplot >/dev/null 2>&1 && echo "$1" || echo 4; }
answers "$(drawn 1)" '^fails: ' run table-1 --models "$scratch/seeds" --sets 20 --largest 128 --out "$scratch/table"
test -s "$scratch/table/table_1.csv" || complain "no table_1.csv"
answers "$(drawn 0)" '^closest: ' run sensitivity --models "$scratch/seeds" --readings "$scratch/seeds" --sets 8 --largest 16 --out "$scratch/table"
answers "$(drawn 0)" '^entmax ' run variants --models "$scratch/seeds" --variants "$scratch/seeds" --sets 8 --largest 16 --out "$scratch/table"
refuses 3 '--models' run table-1 --models "$scratch/none" --out "$scratch/table"
refuses 3 '--variants' run variants --models "$scratch/seeds" --variants "$scratch" --out "$scratch/table"
refuses 2 '--sets' run table-1 --sets 0
refuses 2 '--out' run table-1 --out "$scratch/models/a"

# Certificates about a network; none about what cannot be read, and none of those beside it.
net=experiments/models/seeds/seed-01.safetensors
expect 0 model "$net" --json "$scratch/model.json"
says '^pass: 19 of 19 claims about one network proved'
says 'model.spread.exact .* pass'
test -s "$scratch/model.json" || complain "no model.json"
head -c 470000 "$net" >"$scratch/cut"
cp "$net" "$scratch/nan"
printf '\000\000\300\177' | dd of="$scratch/nan" bs=1 seek=$(($(wc -c <"$net") - 4)) conv=notrunc 2>/dev/null
refuses 3 'cut: .*do not lie within' model "$scratch/cut"
refuses 3 'nan: .*need finite values' model "$scratch/nan"
refuses 3 'empty.so: .*got an empty one' model "$scratch/empty.so"
refuses 3 'text.so: ' model "$scratch/text.so"
refuses 3 'cut: ' model "$net" "$scratch/cut"
test -s "$scratch/out" && complain "certificates beside a file that cannot be read"
refuses 2 'not there' model "$scratch/missing"
refuses 2 '--eps' model "$net" --eps 1
refuses 2 '--n' model "$net" --n 0
# Theorems for Coq: written without it, and what cannot be a file of Coq's is refused.
answers 5 '^not checked: need softcheck.s compiled proofs' model "$net" --prove "$scratch/net.v" --proofs "$scratch/no-proofs"
# The table has the theorems' own numbers, rounded up: spreads in units of 2^-10, and of N(1/10) the logarithm.
# stated THEOREM TEXT: the number before TEXT in the line of a theorem; hundredths EXPRESSION: rounded up to 0.01
stated() { sed -n "s/^Theorem $1 .*[( ]\([0-9][0-9]*\)$2\.\$/\1/p" "$scratch/net.v"; }
hundredths() { awk "BEGIN { x = 100 * ($1); up = int(x); if (up < x) ++up; printf \"%.2f\", up / 100 }"; }
says "^  spread, product of singular values *<= $(hundredths "$(stated norm_product_spread ' \/ 1024)') / 1024") "
says "^  spread, W_K^T W_Q as one matrix *<= $(hundredths "$(stated folded_spread ' \/ 1024)') / 1024") "
says "^  N(1/10) of that spread *= 10^$(hundredths "log($(stated length_checked ' = true')) / log(10)") *$"
mkdir -p "$scratch/proofs/certified_network"
: >"$scratch/proofs/certified_network/mistake_check.vo"
printf '#!/bin/sh\nPATH=%s exec %s "$@"\n' "$scratch/no-programs" "$(realpath "$softcheck")" >"$scratch/without-coqc"
chmod +x "$scratch/without-coqc"
command=$softcheck
softcheck=$scratch/without-coqc
expect 5 model "$net" --prove "$scratch/net.v" --proofs "$scratch/proofs"
softcheck=$command
says '^not checked: need coqc'
# What coqc says is read by a user whom the log's mode binds: by nobody, where root asks and nobody may run the command.
mkdir "$scratch/open" "$scratch/coq"
chmod 711 "$scratch"
chmod 777 "$scratch/open"
cp "$net" "$scratch/open/net.safetensors"
printf '#!/bin/sh\necho Axioms:\necho ClassicalDedekindReals.sig_not_dec : "%s"\n' 'forall P, {~ ~ P} + {~ P}' >"$scratch/coq/coqc"
user=
test "$(id -u)" != 0 || user='setpriv --reuid 65534 --regid 65534 --clear-groups'
$user "$(realpath "$command")" version >"$scratch/out" 2>"$scratch/err" || user=
printf '#!/bin/sh\nPATH=%s:$PATH exec %s %s "$@"\n' "$scratch/coq" "$user" "$(realpath "$command")" >"$scratch/with-coqc"
chmod +x "$scratch/coq/coqc" "$scratch/with-coqc"
softcheck=$scratch/with-coqc
answers 0 '^pass: proved by coqc' model "$scratch/open/net.safetensors" --prove "$scratch/open/net.v" --proofs "$scratch/proofs"
echo 'echo another_axiom : False' >>"$scratch/coq/coqc"
expect 1 model "$scratch/open/net.safetensors" --prove "$scratch/open/net.v" --proofs "$scratch/proofs"
says '^fail: the theorems in .* rest on another_axiom$'
softcheck=$command
refuses 2 'name Coq takes' model "$net" --prove "$scratch/net-1.v"
refuses 2 'name Coq takes' model "$net" --prove "$scratch/net.txt"
refuses 2 'needs one max-retrieval network' model "$net" "$net" --prove "$scratch/two.v"
refuses 2 'states N(1/10)' model "$net" --prove "$scratch/eps.v" --eps 0.01
refuses 2 'needs --prove' model "$net" --proofs "$scratch"
refuses 3 'cut: ' model "$scratch/cut" --prove "$scratch/cut.v"

# All that ships: verify runs the attention kernel on three sets of each of the ten networks. One case a property leaves
# some claims vacuous.
"$softcheck" verify --quick --cases 1 >"$scratch/out" 2>"$scratch/err"
case $? in 0 | 5) ;; *) complain "verify --quick fails" ;; esac
runs=$(grep -c 'the attention kernel on [0-9]* items: class' "$scratch/out")
test "$runs" = 30 || complain "$runs sets in place of 30 were given to the attention kernel"

test "$failures" = 0

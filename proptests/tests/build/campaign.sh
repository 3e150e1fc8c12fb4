#!/bin/sh
# softcheck campaign answers right and wrong input as docs/campaigns.md says; python/tests/test_campaign*.py kill it.
#   campaign.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
softcheck=$1
kernels=$2
. "$(dirname "$0")/command_checks.sh"
root=$PWD
cd "$scratch" || exit 1

cat >plan.toml <<'TOML'
name = "shell"
cases = 3
shard = 2
[[kernels]]
kernel = ["libsoftcheck_zoo.so:correct_two_pass", "libsoftcheck_zoo.so:correct_online"]
seed = [5, 6]
TOML
expect 0 campaign plan.toml --list
test "$(wc -l <out)" = 2 || complain "not two shards"
cut -f 1 out >keys
says '	-	2	softcheck kernel .*correct_two_pass.* --seed 5 --cases 3$'

# Wrong input.
refuses 2 'campaign: need a plan' campaign
refuses 2 'need a plan that can be read' campaign none.toml --out results
mkfifo pipe.toml || complain "no pipe"
for file in pipe.toml /dev/zero; do refuses 3 'need a regular file' campaign "$file" --out results; done
cp plan.toml long.toml
truncate -s $(((16 << 20) + 1)) long.toml # zeros
refuses 3 'need .*16777216' campaign long.toml --list
refuses 2 'need --out DIR' campaign plan.toml
refuses 2 '--kernels: need a folder' campaign plan.toml --out results --kernels "$scratch/none"
for share in 0/2 3/2 2 1/ /2 1/2/3 a/b -1/2 1/0; do refuses 2 '--shard' campaign plan.toml --out results --shard=$share; done
refuses 2 '--processes' campaign plan.toml --out results --processes 0
refuses 2 '--out: need a folder' campaign plan.toml --out plan.toml --kernels "$kernels"
refuses 2 'the plan has no shard' campaign plan.toml --print none
refuses 2 'could not be judged.*no such file' campaign plan.toml --out nothing
refuses 2 'need a folder of a campaign' campaign merge plan.toml none
refuses 2 'plan' campaign merge
printf 'name = "x"\n[[kernels]\n' >wrong.toml
refuses 3 'wrong.toml:2: ' campaign wrong.toml --out results
printf '[[kernels]]\nkernel = "a.so:f"\nspeed = 1\n' >wrong.toml
refuses 3 "wrong.toml:3: .*got 'speed'" campaign wrong.toml --out results
refuses 3 "wrong.toml:3: .*got 'speed'" campaign merge wrong.toml "$scratch"
printf '[[kernels]]\nkernel = "a\033[2J:f"\n' >wrong.toml
refuses 3 'wrong.toml' campaign wrong.toml --list
lacks err "$(printf '\033')"

# Shares, then the report; what is finished is not judged again.
expect 5 campaign merge plan.toml . --out none
answers 0 '^1 of 1 shards of share 2/2 were judged now' campaign plan.toml --kernels "$kernels" --out results --shard 2/2
expect 5 campaign merge plan.toml results
holds err '1 of 2 shards are missing'
answers 0 '^0 of 1 shards' campaign plan.toml --kernels "$kernels" --out results --shard 2/2
answers 0 '^campaign shell: 4 judgements: 4 pass$' campaign plan.toml --kernels "$kernels" --out results
test ! -s err || complain "progress on a pipe"
cat results/report.* >first
for file in report.txt report.json report.xml report.html hosts.tsv; do test -s "results/$file" || complain "no $file"; done
expect 0 campaign merge plan.toml results --out again
cat again/report.* | cmp -s - first || complain "a merge makes another report"
expect 0 campaign plan.toml --kernels "$kernels" --out results --list
test "$(grep -c '	finished	' out)" = 2 || complain "not all is finished"

# A shard by itself is the file that a run leaves, but for what the machine says.
key=$(head -n 1 keys)
expect 0 campaign plan.toml --kernels "$kernels" --print "$key"
verdicts() { sed 's/,"machine":.*//; /^{"end"/d' "$1"; }
verdicts out >printed
verdicts "results/shards/$key.jsonl" | cmp -s - printed || complain "--print prints another shard"

# A plan that grows keeps what was judged.
sed 's/correct_two_pass"/&, "libsoftcheck_zoo.so:mutant_no_max_shift"/; s/shard = 2/shard = 2/' plan.toml >grown.toml
expect 0 campaign grown.toml --kernels "$kernels" --out results --list
test "$(grep -c '	finished	' out)" = 2 || complain "a larger plan forgets what was judged"
expect 1 campaign grown.toml --kernels "$kernels" --out results
says 'mutant_no_max_shift f32 *fail'
says 'replay: softcheck kernel'

# Models by layers say what one command says; wrong plans get one line.
ln -s "$root/proptests/tests/models/checkpoints" tiny
printf '[[models]]\nmodel = "tiny/gpt2"\nlayers = "0-1"\nvocabulary = true\nfail-if = "logit.f16 > 65504"\n' >models.toml
expect 0 campaign models.toml --list
test "$(wc -l <out)" = 2 || complain "a shard is not a layer"
answers 0 '^campaign: 1 model: 1 pass$' campaign models.toml --out certified
expect 0 model tiny/gpt2 --vocabulary --fail-if 'logit.f16 > 65504' --html page.html
cmp -s page.html certified/model-1.html || complain "a model by layers has another page"
grep -v '^pass: ' out >table
test "$(grep -c . table)" -gt 10 || complain "a model's table is too short to be compared"
grep -v -x -F -f certified/report.txt table | grep -q . && complain "a model by layers has another table"
printf '[[models]]\nmodel = "tiny/gpt2"\nlayers = "0-2"\n' >models.toml
refuses 2 'tiny/gpt2: layers: need layers of 0-1, got 2' campaign models.toml --out certified
printf '[[models]]\nmodel = "tiny/none"\nlayers = "0"\n' >models.toml
refuses 2 'tiny/none: is not there' campaign models.toml --out certified
printf '[[models]]\nmodel = 3\nlayers = "0"\n' >wrong.toml
refuses 3 'wrong.toml:2: model: need the path of a checkpoint, or a list of paths, got 3' campaign wrong.toml --list
printf '[[trainings]]\nnetwork = "max-retrieval"\nsteps = 0\n' >wrong.toml
refuses 3 'wrong.toml:3: steps: need an integer from 1 to 1099511627776, got 0' campaign wrong.toml --list
printf '[[trainings]]\nnetwork = "max-retrieval"\nsteps = 3\nsets = 4\nseed = [1, 2]\ntest-sizes = 4\n' >trainings.toml
answers 0 '^campaign: 2 trainings: 2 pass$' campaign trainings.toml --out trained
expect 0 run train --steps 3 --sets 4 --seed 2 --out alone.safetensors
cmp -s alone.safetensors trained/trained/1/seed-02.safetensors || complain "a campaign trains another network"
test ! -e trained/kept || complain "a finished training leaves what it kept"

if test -c /dev/full; then
  "$softcheck" campaign plan.toml --kernels "$kernels" --out results >/dev/full 2>err
  test $? = 0 || complain "a report in files does not make up for a full terminal"
fi
cd "$root" || exit 1
test "$failures" = 0

#!/bin/sh
# Files that are no networks, no cases and no corpora: refused by one line within seconds, never by a signal.
#   readers.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
softcheck=$1
mutants=$2/libsoftcheck_zoo.so
. "$(dirname "$0")/command_checks.sh"
net=experiments/models/seeds/seed-01.safetensors

# header_file FILE HEADER_FILE BYTES: a safetensors file of a header and zeros
header_file() {
  safetensors "$2" >"$1"
  head -c "$3" /dev/zero >>"$1"
}
within_seconds

# Headers nested 100,000 deep, where a shape, a dtype, an entry or a text is due.
{ printf '{"a":{"dtype":"F32","shape":'; repeat 100000 '['; repeat 100000 ']'; printf ',"data_offsets":[0,0]}}'; } >"$scratch/shape"
{ printf '{"a":{"dtype":'; repeat 100000 '['; repeat 100000 ']'; printf ',"shape":[1],"data_offsets":[0,4]}}'; } >"$scratch/dtype"
{ repeat 100000 '{"a":'; printf 1; repeat 100000 '}'; } >"$scratch/entry"
{ printf '{"__metadata__":{"k":'; repeat 100000 '{"k":'; printf '"x"'; repeat 100000 '}'; printf '}}'; } >"$scratch/text"
for part in shape dtype entry text; do
  header_file "$scratch/deep_$part" "$scratch/$part" 4
  refuses 3 "deep_$part: .*nests deeper" model "$scratch/deep_$part"
done

# Pipes, devices, folders; 1 TB of which nothing is there.
mkfifo "$scratch/pipe" || complain "no pipe"
refuses 3 'need a regular file' model "$scratch/pipe"
refuses 2 'need a regular file' test --filter Lemma21 --corpus "$scratch/pipe"
for file in /dev/zero /dev/full /dev/null; do
  test -c "$file" && refuses 3 'need a regular file' model "$file"
done
refuses 2 'need config.json beside the tensors' model "$scratch"
echo '{}' >"$scratch/config.json"
refuses 2 'config.json. is neither: name the folder in which it lies' model "$scratch/config.json"
rm "$scratch/config.json"
printf '{}' >"$scratch/empty_header"
header_file "$scratch/sparse" "$scratch/empty_header" 0
truncate -s 1T "$scratch/sparse" && refuses 3 'sparse: the tensors end at byte 0 of the data' model "$scratch/sparse"
: >"$scratch/sparse_zeros"
truncate -s 1T "$scratch/sparse_zeros" && refuses 3 'sparse_zeros: ' model "$scratch/sparse_zeros"
printf '{"a":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}}' >"$scratch/huge_header"
header_file "$scratch/sparse_tensor" "$scratch/huge_header" 0
truncate -s $((8 + $(wc -c <"$scratch/huge_header") + 1099511627776)) "$scratch/sparse_tensor" &&
  refuses 3 'need at most 1073741824 bytes of tensors' model "$scratch/sparse_tensor"
truncate -s 1T "$scratch/sparse_corpus" &&
  refuses 2 'need at most .* bytes' test --filter Lemma21 --corpus "$scratch/sparse_corpus"

# A name that would clear the screen is one line of plain characters.
printf '{"\\u001b[2J\\u0007evil\\nname":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}' >"$scratch/escapes"
header_file "$scratch/named" "$scratch/escapes" 2
refuses 3 'x1b.2J.x07evil.x0aname' model "$scratch/named"
odd="$scratch/$(printf 'odd\033[31m name')"
printf xx >"$odd"
refuses 3 'x1b.31m name' model "$odd"
lacks "$scratch/err" "$(printf '\033')"

# Weights that say nothing are refused; large ones are certified or refused, and not pondered.
head_bytes=$(($(head -c 8 "$net" | od -An -tu8) + 8))
data_bytes=$(($(wc -c <"$net") - head_bytes))
{ head -c "$head_bytes" "$net"; head -c "$data_bytes" /dev/zero; } >"$scratch/zeros"
refuses 4 'zeros: .*all logits are alike' model "$scratch/zeros"
{ head -c "$head_bytes" "$net"; repeat $((data_bytes / 4)) '____'; } >"$scratch/huge"
"$softcheck" model "$scratch/huge" >"$scratch/out" 2>"$scratch/err"
case $? in
  1 | 4) ;;
  *) complain "weights of 10^19 are neither certified nor refused" ;;
esac

# Cases that no property has.
refuses 3 '--replay' test --filter Lemma21.EveryCoefficientLiesWithinItsBounds --replay 'row f64 theta=0x1p+0 -inf*3'
refuses 3 '--replay: .*outside its domain' test --filter RemarkB2.ABertNetworkForgetsOneTokenAmongManyOthers \
  --replay 'network seed=0x1 vocabulary=2 width=2 heads=1 depth=1 mask=gpt residual=1 feedforward=0 activation=relu theta=0x1p+0 weight_scale=0x1p+0 length=3'
expect 0 test --filter RemarkB2.ABertNetworkForgetsOneTokenAmongManyOthers \
  --replay 'network seed=0x1 vocabulary=2 width=2 heads=1 depth=1 mask=bert residual=1 feedforward=0 activation=relu theta=0x1p+0 weight_scale=0x1p+0 length=3'

# A corpus of a kernel's cases is judged before what is drawn.
value=Kernel.EveryValueLiesWithinItsThreshold
printf '# kept\n%s\trow f32 theta=0x1p+0 0x0p+0*3\n' "$value" >"$scratch/corpus"
expect 0 kernel "$mutants:correct_two_pass" --cases 5 --effort quick --corpus "$scratch/corpus"
says 'after 1 of the corpus'
printf '%s\trow f32 theta=0x1p+0 0x1.9p+6*2\n' "$value" >>"$scratch/corpus"
expect 1 kernel "$mutants:mutant_no_max_shift" --cases 5 --effort quick --corpus "$scratch/corpus"
says 'a case of the corpus: .*corpus:3'
printf '%s\trow f64 theta=0x1p+0 0x0p+0\n' "$value" >"$scratch/corpus"
refuses 3 '--corpus: .*corpus:1: .*dtype' kernel "$mutants:correct_two_pass" --corpus "$scratch/corpus"
printf 'Lemma21.TheSharpBoundsAreAttained\trow f64 theta=0x1p+0 0x0p+0\n' >"$scratch/corpus"
refuses 3 '--corpus: need cases of Kernel' kernel "$mutants:correct_two_pass" --corpus "$scratch/corpus"
refuses 2 '--corpus' kernel "$mutants:correct_two_pass" --corpus "$scratch/none"

test "$failures" = 0

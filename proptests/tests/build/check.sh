#!/bin/sh
# softcheck check judges results in files: a planted wrong value is found at its place, and files that are no tensors are
# refused by one line within seconds, never by a signal.
#   check.sh SOFTCHECK      the command
set -u
softcheck=$1
. "$(dirname "$0")/command_checks.sh"
cd "$scratch" || exit 1

# npy_header FILE DESCR SHAPE: of version 1, 128 bytes long
npy_header() {
  printf '\223NUMPY\001\000\166\000' >"$1"
  printf '%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" >>"$1"
}
zero='\000\000\000\000' half='\000\000\000\077' # of f32, the lowest byte first

# Four rows of two equal logits; the third coefficient of row 2 of the second matrix is 0.75.
npy_header logits.npy '<f4' '(2, 4, 2)'
repeat 16 "$zero" >>logits.npy
npy_header right.npy '<f4' '(2, 4, 2)'
repeat 16 "$half" >>right.npy
npy_header wrong.npy '<f4' '(2, 4, 2)'
{ repeat 13 "$half"; printf '\000\000\100\077'; repeat 2 "$half"; } >>wrong.npy
expect 0 check --logits logits.npy --output right.npy
says '^  logits  logits.npy  f32   (2, 4, 2)$'
says '^softmax f32 .*acc=f32 exp=1ulp sum=sequential'
says '^pass: all 8 rows keep to the contract; 8 of 8 rows judged'
expect 1 check --logits logits.npy --output wrong.npy --worst 1 --json report.json --junit report.xml --plot slack.svg
says '^  \[1, 2\]     1      0  0.75  *0.5 .*fail'
says '^1 of 8 rows fail: row 6 \[1, 2\]$'
says '^fail: 1 of 8 rows fail'
for text in '"item": 1' '"failing": ' '"profile": ' '"histogram": ' '"shape": ' '"place": "wrong.npy"' '"contract": "acc=f32'; do
  holds report.json "$text"
done
holds report.xml '<failure'
holds slack.svg '<svg .*'
holds slack.svg '</svg>'
# "-" is standard output, with nothing else there.
expect 1 check --logits logits.npy --output wrong.npy --json -
head -c 1 "$scratch/out" | grep -q '{' && tail -c 2 "$scratch/out" | grep -q '}' || complain "standard output has more than the JSON report"
test ! -e ./- || complain "a file is named -"
expect 1 check --logits logits.npy --output wrong.npy --worst 0
says_not '^the worst'
expect 5 check --logits logits.npy --output wrong.npy --exempt kernel.softmax.element --exempt kernel.softmax.row_sum
says '(exempt: kernel.softmax.element, kernel.softmax.row_sum)'

# A mask, a temperature that no equal logits show, another contract, an op of row scalars.
npy_header mask.npy '|b1' '(2,)'
printf '\001\000' >>mask.npy
expect 1 check --logits logits.npy --output right.npy --mask mask.npy
expect 0 check --logits logits.npy --output right.npy --theta 0.7 --contract 'acc=f64 exp=1ulp sum=tree'
says '^  theta 0.7$'
says 'acc=f64 exp=1ulp sum=tree'

# Attention: one query, one key; the value is the result. An lse is an output too.
for name in q k v; do
  npy_header $name.npy '<f4' '(1, 1)'
  printf "$half" >>$name.npy
done
expect 0 check --op attention --query q.npy --key k.npy --value v.npy --output v.npy --scale 1
npy_header nodims.npy '<f4' '(1, 0)' # no dimensions: a score of 0 at a scale of 1
answers 0 '^  scale 1$' check --op attention --query nodims.npy --key nodims.npy --value v.npy --output v.npy
npy_header lse.npy '<f4' '(1,)'
printf '\000\000\200\076' >>lse.npy # q k = 0.25
expect 0 check --op attention --query q.npy --key k.npy --value v.npy --output v.npy --lse lse.npy --causal
says 'kernel.attention.lse'
says '^  scale 1, causal$'
expect 1 check --op attention --query q.npy --key k.npy --value v.npy --output v.npy --lse lse.npy --scale 2

# Attributes: of one key a window and a cap change nothing, and a sink of 0.25 beside a score of 0.25 halves v.
expect 0 check --op attention --query q.npy --key k.npy --value v.npy --output v.npy --scale 1 --window 0:0 --softcap 30 --top-left
npy_header quarter.npy '<f4' '(1, 1)'
printf '\000\000\200\076' >>quarter.npy
expect 0 check --op attention --query q.npy --key k.npy --value v.npy --output quarter.npy --scale 1 --sinks lse.npy
expect 1 check --op attention --query q.npy --key k.npy --value v.npy --output v.npy --scale 1 --sinks lse.npy
refuses 3 'entropy: need none beside sinks' check --op attention --query q.npy --key k.npy --value v.npy --output v.npy --lse lse.npy --entropy lse.npy --scale 1 --sinks lse.npy

# Losses: two equal logits lose ln 2; the row whose label is ignored loses nothing.
two='\030\162\061\077' # ln 2
npy_header labels.npy '<i8' '(2, 4)'
{ repeat 56 '\000'; printf '\234\377\377\377\377\377\377\377'; } >>labels.npy # -100, the last
npy_header losses.npy '<f4' '(2, 4)'
{ repeat 7 "$two"; printf "$zero"; } >>losses.npy
expect 0 check --op cross_entropy --logits logits.npy --labels labels.npy --output losses.npy
says '^  labels  labels.npy  int64 (2, 4)$'
says '^  ignore_index -100$'
expect 0 check --op cross_entropy --logits logits.npy --labels labels.npy --output losses.npy --label-smoothing 0.5
answers 1 '^7 of 8 rows fail' check --op cross_entropy --logits logits.npy --labels labels.npy --output losses.npy --z-loss 0.5
answers 0 '^  softcap 30, ignore_index -100$' check --op cross_entropy --logits logits.npy --labels labels.npy --output losses.npy --softcap 30
npy_header ones.npy '<f4' '(2,)'
repeat 2 '\000\000\200\077' >>ones.npy
npy_header twos.npy '<f4' '(2,)'
repeat 2 '\000\000\000\100' >>twos.npy
expect 0 check --op cross_entropy --logits logits.npy --labels labels.npy --class-weights ones.npy --output losses.npy
answers 1 '^7 of 8 rows fail' check --op cross_entropy --logits logits.npy --labels labels.npy --class-weights twos.npy --output losses.npy
refuses 3 'class_weights: need shape (2,), got (2, 4)' check --op cross_entropy --logits logits.npy --labels labels.npy --class-weights losses.npy --output losses.npy
refuses 3 'labels: need one of 2 classes, or ignore_index 1, got -100 at (1, 3)' check --op cross_entropy --logits logits.npy --labels labels.npy --output losses.npy --ignore-index 1
refuses 3 'labels: need dtype int32 or int64, got f32' check --op cross_entropy --logits logits.npy --labels losses.npy --output losses.npy
refuses 3 'logits: need dtype f64, f32, f16, bf16, e4m3 or e5m2, got int64' check --logits labels.npy --output losses.npy
refuses 2 'needs --logits, --labels, --upstream and --output' check --op cross_entropy_backward --logits logits.npy
refuses 2 '--labels: --op softmax has none' check --logits logits.npy --output right.npy --labels labels.npy
refuses 2 '--z-loss: --op softmax has none' check --logits logits.npy --output right.npy --z-loss 1
refuses 2 '--softcap: --op softmax has none' check --logits logits.npy --output right.npy --softcap 1
refuses 2 '--class-weights: --op softmax has none' check --logits logits.npy --output right.npy --class-weights ones.npy
# Their mean: seven rows count, each of loss ln 2, whose value in f32 the first one is.
head -c $(($(wc -c <losses.npy) - 28)) losses.npy | tail -c 4 >ln2.bytes
npy_header mean.npy '<f4' '(1,)'
cat ln2.bytes >>mean.npy
expect 0 check --op cross_entropy_mean --logits logits.npy --labels labels.npy --output mean.npy
says 'mean, ignore_index -100'
says '^pass: all 1 rows keep to the contract; 1 of 1 rows judged'
expect 1 check --op cross_entropy_mean --logits logits.npy --labels labels.npy --output mean.npy --reduction sum
refuses 2 '--reduction: --op cross_entropy has none' check --op cross_entropy --logits logits.npy --labels labels.npy --output losses.npy --reduction sum
refuses 2 '--reduction: need mean or sum' check --op cross_entropy_mean --logits logits.npy --labels labels.npy --output mean.npy --reduction none
refuses 2 '--label-smoothing' check --op cross_entropy --logits logits.npy --labels labels.npy --output losses.npy --label-smoothing 2

# Attention's gradient: one query and one key, both 0.5: p = 1, so that dv is the gradient by the output, and dq = dk = 0.
npy_header nought.npy '<f4' '(1, 1)'
printf "$zero" >>nought.npy
gradient='check --op attention_backward --q q.npy --k k.npy --v v.npy --dout q.npy'
expect 0 $gradient --dq nought.npy --dk nought.npy --dv q.npy --scale 1
says '^  query  *q.npy  *f32   (1, 1)$'
says '^pass: all 2 rows keep to the contract; 2 of 2 rows judged'
expect 1 $gradient --dq nought.npy --dk nought.npy --dv nought.npy --scale 1 --json report.json
says '^  dv.0.  '
says '^1 of 2 rows fail: row 1 (key .0.)$'
holds report.json '"of": "dv"'
expect 0 $gradient --dq nought.npy --dk nought.npy --dv q.npy --out v.npy --lse lse.npy --scale 1 --causal --window 0:all --softcap 2
says '^  scale 1, causal, window 0:all, softcap 2$'
# Beside a sink of -1000, which weighs nothing, and a bias of 0.
npy_header zero1.npy '<f4' '(1,)'
printf "$zero" >>zero1.npy
npy_header far.npy '<f4' '(1,)'
printf '\000\000\172\304' >>far.npy
expect 0 $gradient --dq nought.npy --dk nought.npy --dv q.npy --scale 1 --sinks far.npy --dsinks zero1.npy --bias nought.npy --dbias nought.npy
says '^pass: all 4 rows keep to the contract; 4 of 4 rows judged'
expect 0 $gradient --dq nought.npy --dk nought.npy --dv q.npy --scale 1 --dlse zero1.npy
expect 1 $gradient --dq nought.npy --dk nought.npy --dv q.npy --scale 1 --lse-gradient far.npy
refuses 2 '--lse-gradient: --op attention has none' check --op attention --q q.npy --k k.npy --v v.npy --output q.npy --dlse far.npy
expect 1 $gradient --dq nought.npy --dk nought.npy --dv q.npy --scale 1 --sinks far.npy --dsinks far.npy --bias nought.npy --dbias q.npy
says '^2 of 4 rows fail: rows 2 (sinks .0.) to 3 (bias .0.)$'
refuses 2 '--dsinks: need --sinks, which it is the gradient by' $gradient --dq nought.npy --dk nought.npy --dv q.npy --dsinks far.npy
refuses 2 '--dbias: need --bias, which it is the gradient by' $gradient --dq nought.npy --dk nought.npy --dv q.npy --dbias q.npy
refuses 3 'dbias: need shape (1, 1), got (1,)' $gradient --dq nought.npy --dk nought.npy --dv q.npy --bias nought.npy --dbias far.npy
refuses 2 'needs --query, --key, --value, --out-gradient, --dq, --dk and --dv' $gradient --dq nought.npy
refuses 2 'need --out and --lse, what the forward pass returned, or neither, got one of them' $gradient --dq nought.npy --dk nought.npy --dv q.npy --lse lse.npy
refuses 2 "--window: need LEFT:RIGHT, each a number of keys or 'all', as 127:0, got '3'" $gradient --dq nought.npy --dk nought.npy --dv q.npy --window 3
refuses 2 '--softcap: --op adaptive_attention has none' check --op adaptive_attention --query q.npy --key k.npy --value v.npy --output v.npy --softcap 2
refuses 2 '--dq: --op softmax has none' check --logits logits.npy --output right.npy --dq nought.npy
refuses 3 'dk: need shape (1, 1), got (1,)' $gradient --dq nought.npy --dk lse.npy --dv q.npy
refuses 3 'sinks: need shape (1,), got (1, 1)' $gradient --dq nought.npy --dk nought.npy --dv q.npy --sinks q.npy

# Top-k: of two equal logits either one; k is what --ids has.
npy_header weights.npy '<f4' '(2, 4, 1)'
repeat 8 "$half" >>weights.npy
npy_header ids.npy '<i4' '(2, 4, 1)'
{ repeat 7 "$zero"; printf '\001\000\000\000'; } >>ids.npy
answers 0 '^  k 1$' check --op topk_softmax --logits logits.npy --weights weights.npy --ids ids.npy
expect 1 check --op topk_softmax --logits logits.npy --weights weights.npy --ids ids.npy --contract ties=lowest
says '^  ids.1, 3.  '
says '^1 of 8 rows fail: row 7 .1, 3.$'
expect 1 check --op topk_softmax --logits logits.npy --weights weights.npy --ids ids.npy --renormalize
refuses 3 'weights: need shape (2, 4, 2), got (2, 4, 1)' check --op topk_softmax --logits logits.npy --weights weights.npy --ids ids.npy --top-k 2
refuses 3 'ids: need dtype int32 or int64, got f32' check --op topk_softmax --logits logits.npy --weights weights.npy --ids weights.npy
refuses 2 'needs --logits, --weights and --ids' check --op topk_softmax --logits logits.npy
refuses 2 '--top-k: --op softmax has none' check --logits logits.npy --output right.npy --top-k 2

# Sampling: of two equal logits either one, or both.
answers 0 '^  top_p 0.9$' check --op top_p_softmax --logits logits.npy --output right.npy --top-p 0.9
expect 0 check --op top_p_softmax --logits logits.npy --output right.npy --min-p 1
refuses 2 '--top-p' check --op top_p_softmax --logits logits.npy --output right.npy --top-p 2
refuses 2 '--min-p: --op softmax has none' check --logits logits.npy --output right.npy --min-p 0.5

# A merge of two equal parts: their output, and a log-sum-exp larger by ln 2, or by 1 in base 2.
npy_header parts.npy '<f4' '(2, 1, 2)'
repeat 4 "$half" >>parts.npy
npy_header part_lses.npy '<f4' '(2, 1)'
repeat 2 "$zero" >>part_lses.npy
npy_header merged.npy '<f4' '(1, 2)'
repeat 2 "$half" >>merged.npy
npy_header merged_lse.npy '<f4' '(1,)'
printf "$two" >>merged_lse.npy
npy_header one.npy '<f4' '(1,)'
printf '\000\000\200\077' >>one.npy
merge='check --op merge_states --out parts.npy --lse part_lses.npy --output merged.npy'
answers 0 '^  base e$' $merge --output-lse merged_lse.npy
expect 0 $merge --output-lse one.npy --base-2
answers 1 '^  lse.0.  ' $merge --output-lse merged_lse.npy --base-2
refuses 2 'needs --out, --lse, --output and --output-lse' $merge
refuses 3 'out: need shape (2, 1, 2), got (1, 2)' check --op merge_states --out merged.npy --lse part_lses.npy --output merged.npy --output-lse one.npy

# Flags that are wrong, or have no meaning for the op.
refuses 2 "check: need each file behind its flag, for --op softmax --logits and --output, got 'logits.npy' without one" check logits.npy right.npy
refuses 2 "--op attention --query, --key, --value and --output, got 'v.npy' without one" check --query q.npy v.npy --op attention
refuses 2 "check: need a flag of its own, as --query, got '--queries' (softcheck check --help" check --op attention --queries q.npy --keys k.npy
refuses 2 "as --logits, got '--logit' " check --logit=logits.npy --output right.npy
refuses 2 "check: --op softmax has --logits, --mask, --output, --theta and what every op has, got '--nothing-like-it' (softcheck check --help" check --nothing-like-it=x y
refuses 2 "check: --op attention has --query, --key, --value, --mask, --sinks, --slopes, --bias, --output, --lse, --entropy, --scale, --causal, --window, --softcap, --top-left and" check --op attention --nothing-like-it x
refuses 2 'needs --logits and --output' check --logits logits.npy
refuses 2 'needs --query, --key, --value and --output' check --op attention --output v.npy
refuses 2 '--out: --op attention has none; it needs --query, --key, --value and --output' check --op attention --out v.npy
refuses 2 '--query: --op softmax has none' check --logits logits.npy --output right.npy --query q.npy
refuses 2 '--logits: --op attention has none; it needs --query' check --op attention --query q.npy --key k.npy --value v.npy --output v.npy --logits q.npy
refuses 2 '--scale: --op softmax has none' check --logits logits.npy --output right.npy --scale 2
refuses 2 '--theta: --op attention has none' check --op attention --query q.npy --key k.npy --value v.npy --output v.npy --theta 2
refuses 2 '--entropy: need --lse' check --op attention --query q.npy --key k.npy --value v.npy --output v.npy --entropy lse.npy
refuses 2 "--theta: need a number from 9.3[0-9]*e-302 to 1.07[0-9]*e+301, got '0'" check --logits logits.npy --output right.npy --theta 0
refuses 2 '--theta' check --logits logits.npy --output right.npy --theta nan
refuses 2 '--op: need one of .*softmax' check --op softmin --logits logits.npy --output right.npy
refuses 2 '--contract: .*sum=sequential' check --logits logits.npy --output right.npy --contract sum=fast
refuses 2 '--exempt: need one of ' check --logits logits.npy --output right.npy --exempt kernel.nan
refuses 2 '--dtype: need f64' check --logits logits.npy --output right.npy --dtype half
refuses 2 '--plot' check --logits logits.npy --output right.npy --plot "$scratch/none/slack.svg"
refuses 2 "--plot: need the name of an SVG file, got 'slack.png'" check --logits logits.npy --output right.npy --plot slack.png
refuses 3 'need f16 as --dtype says, got f32' check --logits logits.npy --output right.npy --dtype f16
refuses 3 "--logits: .*'none.npy' is not there" check --logits none.npy --output right.npy
refuses 3 'output: need shape' check --logits logits.npy --output v.npy
refuses 3 'mask: need dtype uint8 or bool' check --logits logits.npy --output right.npy --mask right.npy
refuses 3 'logits: need dtype f64, .* got a mask of bytes' check --logits mask.npy --output right.npy

# What is no file of tensors. The reader comes back within seconds, whatever it is.
within_seconds
mkfifo pipe.npy || complain "no pipe"
: >empty.npy
printf 'text' >text.npy
printf 'text' >text.npz
printf 'text' >text.safetensors
printf 'text' >text.bin
head -c 130 logits.npy >short.npy
{ cat logits.npy; printf x; } >long.npy
npy_header big.npy '>f4' '(1,)'
npy_header voids.npy '|V2' '(1, 2)'
printf '\000\000\000\000' >>voids.npy
npy_header bytes.npy '|V1' '(1, 2)'
printf '\000\000' >>bytes.npy
npy_header halves.npy '|V1' '(1, 2)'
printf '\060\060' >>halves.npy
for refused in 'pipe.npy:need a regular file' '/dev/zero:need a regular file' './:need a regular file' 'empty.npy:an empty one' \
  'text.npy:need a .npy file' 'text.safetensors:need a safetensors file' 'text.bin:ends in .npy, .npz or .safetensors' \
  'short.npy:holds 2 bytes of data, fewer than shape (2, 4, 2)' 'long.npy:holds 65 bytes of data' \
  'big.npy:big endian' "voids.npy:need --dtype bf16" \
  'bytes.npy:need --dtype e4m3 or e5m2'; do
  file=${refused%%:*}
  refuses 3 "--logits: $file: .*${refused#*:}" check --logits "$file" --output right.npy
  refuses 3 "--output: $file: .*${refused#*:}" check --logits logits.npy --output "$file"
done
expect 1 check --logits voids.npy --output voids.npy --dtype bf16
# 0x30 is 1/2 in e4m3 and 1/8 in e5m2.
expect 0 check --logits bytes.npy --output halves.npy --dtype e4m3
expect 1 check --logits bytes.npy --output halves.npy --dtype e5m2
"$softcheck" check --logits text.npz --output right.npy >out 2>err
case $? in 3 | 4) ;; *) complain "a text is taken for an archive" ;; esac
test "$(wc -l <err)" = 1 || complain "not one line on standard error"

# Safetensors: names, also such as would clear the screen; a header nested 100,000 deep.
header='{"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"p\\u001b[2J":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}}'
printf '%b' "$header" >two
{ safetensors two; repeat 2 "$zero"; repeat 2 "$half"; } >two.safetensors
refuses 3 "need FILE:NAME, as it holds 2 tensors: 'x', 'p.x1b.2J'" check --logits two.safetensors --output right.npy
lacks "$scratch/err" "$(printf '\033')"
npy_header row.npy '<f4' '(1, 2)'
repeat 2 "$half" >>row.npy
answers 0 '^  logits  two.safetensors:x  f32   (1, 2)$' check --logits two.safetensors:x --output row.npy
refuses 3 "holds no tensor 'y'" check --logits two.safetensors:y --output row.npy
{ printf '{"a":{"dtype":"F32","shape":'; repeat 100000 '['; repeat 100000 ']'; printf ',"data_offsets":[0,0]}}'; } >deep
safetensors deep >deep.safetensors
refuses 3 'deep.safetensors: .*nests deeper' check --logits deep.safetensors --output row.npy

# A terabyte of which nothing is there: mapped, not read. Rows of one logit have the logarithm 0.
npy_header sparse.npy '<f4' '(274877906944, 1)'
if truncate -s $((128 + (1 << 40))) sparse.npy 2>/dev/null; then
  refuses 3 'output: need shape' check --logits sparse.npy --output right.npy
  "$softcheck_itself" check --op log_softmax --logits sparse.npy --output sparse.npy --plot slack.svg >"$scratch/out" 2>"$scratch/err" &
  running=$!
  sleep 1
  kill -INT $running 2>/dev/null
  sleep 1
  kill -TERM $running 2>/dev/null # a shell lets its background ignore SIGINT
  wait $running
  test $? = 5 || complain "a judgement that its user ends does not exit with 5"
  says '^undecided: no row fails, and nothing is proved; .*interrupted after'
  holds slack.svg '</svg>'
  # A file that becomes shorter under the judge's eyes.
  "$softcheck_itself" check --op log_softmax --logits sparse.npy --output sparse.npy >"$scratch/out" 2>"$scratch/err" &
  running=$!
  sleep 1
  truncate -s 128 sparse.npy
  wait $running
  test $? = 3 || complain "a file that becomes shorter is no malformed input"
  holds "$scratch/err" '^softcheck: check: a file of tensors became shorter'
fi

test "$failures" = 0

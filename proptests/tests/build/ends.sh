#!/bin/sh
# The command ends when its budget is spent or its user asks it to, also in the most expensive call of each kind of op: a
# report, with the exit code of what is known, and not the end of its time limit.
#   ends.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
softcheck=$1
kernels=$2/libsoftcheck_cpu_kernels.so
. "$(dirname "$0")/command_checks.sh"

# Seconds that a loaded machine may take for what takes two to four on an idle one.
most=60

# ends NAME ARGUMENTS...: what a kernel is asked by ARGUMENTS is reported, once by a budget and once by SIGINT
ends() {
  name=$1
  shift
  timeout --foreground -s KILL $most "$softcheck" kernel "$@" --budget 2 >"$scratch/out" 2>"$scratch/err"
  reported $? "$name, --budget 2"
  # What a shell starts in the background ignores SIGINT, so timeout sends it.
  timeout --foreground --preserve-status -s INT -k $most 2 "$softcheck" kernel "$@" >"$scratch/out" 2>"$scratch/err"
  reported $? "$name, SIGINT"
}

# reported CODE WHAT: pass, or undecided with a reason, and what was not tried
reported() {
  asked=$2
  case $1 in
    0) says '^pass: ' ;;
    5)
      says '^undecided: \(the time budget was spent\|interrupted\)'
      says '^ *not tried: '
      ;;
    *) complain "expected exit 0 or 5, got $1" ;;
  esac
}

# The longest rows; labels, a softcap, smoothing and class weights come with the losses.
rows='n=131072 rows<=3'
ends softmax "$kernels:softcheck_softmax" --contract 'sum=blocks:32 subnormal=kept' --domain "$rows"
ends loss "$kernels:softcheck_cross_entropy" --op cross_entropy --contract 'sum=blocks:32 subnormal=kept' --domain "$rows"
ends "loss's gradient" "$kernels:softcheck_cross_entropy_backward" --op cross_entropy_backward \
  --contract 'sum=blocks:32 subnormal=kept' --domain "$rows"
ends "mean loss" "$kernels:softcheck_cross_entropy_mean" --op cross_entropy_mean --contract 'sum=blocks:32 subnormal=kept' \
  --domain "$rows"
ends projection "$2/libsoftcheck_zoo.so:correct_sparsemax" --op sparsemax --contract 'sum=sequential' --domain "$rows"
ends "top-k" "$kernels:softcheck_topk_softmax" --op topk_softmax --contract 'sum=blocks:32 ties=lowest subnormal=kept' \
  --domain "$rows"
ends merges "$kernels:softcheck_merge_states" --op merge_states --contract 'sum=blocks:32 masked=zero subnormal=kept' \
  --domain 'n=131072'
attention='acc=f32 exp=1ulp sum=blocks:128 masked=zero subnormal=kept'
ends attention "$kernels:softcheck_attention" --op attention --contract "$attention entropy=exact" \
  --domain 'keys=32768 dim=576 values=512'
ends "attention's gradient" "$kernels:softcheck_attention_backward" --op attention_backward --contract "$attention" \
  --domain 'queries=1024 keys=4096 dim=128'

test $failures = 0

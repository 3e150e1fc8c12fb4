#!/bin/sh
# gpu_program.sh PROGRAM FOLDER: without a device softcheck_gpu says in one line what is missing and exits with 4; its
# comparisons hold on the emulator; its report is JSON. With a device only the second half is run: `./run gpu` is the rest.
set -eu
program=$1 folder=$2
[ -x "$program" ] || { echo "Skipped: softcheck_gpu, which ./run gpu and ./run test --deep build where nvcc is"; exit 77; }
rm -rf "$folder"
if [ ! -e /dev/nvidiactl ]; then
  status=0
  said=$("$program" --results "$folder" 2>&1) || status=$?
  [ $status = 4 ] || { echo "exit $status without a device: $said"; exit 1; }
  [ "$(printf '%s\n' "$said" | wc -l)" = 1 ] || { echo "more than a line: $said"; exit 1; }
  [ ! -e "$folder" ] || { echo "results without a device"; exit 1; }
fi
status=0
"$program" --nonsense 2>/dev/null || status=$?
[ $status = 2 ] || { echo "exit $status for an unknown option"; exit 1; }
"$program" --self-test --results "$folder"
status=0
found=$("$program" --self-test --planted --results "$folder") || status=$?
[ $status = 1 ] || { echo "exit $status for planted differences"; exit 1; }
for kernel in softmax row_statistics adaptive_softmax_backward split_attention attention_statistics attention_backward mma_attention mma_adaptive_attention mma_attention_statistics 'packed split_attention' 'packed attention_backward'; do
  printf '%s\n' "$found" | grep -q "^DIFFERS  $kernel " || { echo "nothing found of $kernel"; exit 1; }
done
for report in "$folder"/*.json; do
  cmake -DREPORT="$report" -P "$(dirname "$0")/gpu_report.cmake"
done

#!/bin/sh
# spills.sh LOG ARCHITECTURE...: ptxas has compiled kernels for each architecture, and none keeps registers in memory.
set -eu
log=$1
shift
[ -f "$log" ] || { echo "Skipped: no nvcc when this was built"; exit 77; }
for architecture do
  grep -q "for '$architecture'" "$log" || { cat "$log"; echo "no kernel was compiled for $architecture"; exit 1; }
done
kernels=$(grep -c 'spill stores' "$log")
# A stack frame is an array that could not be registers: as slow.
if grep 'spill stores' "$log" | grep -v ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads'; then
  echo "of $kernels kernels these keep registers in memory (names: $log)"
  exit 1
fi
echo "$kernels kernels, none spills"

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
if grep -B 1 'spill stores' "$log" | grep -v ' 0 bytes spill stores, 0 bytes spill loads' | grep 'spill stores'; then
  echo "of $kernels kernels these spill registers (names: $log)"
  exit 1
fi
echo "$kernels kernels, none spills"

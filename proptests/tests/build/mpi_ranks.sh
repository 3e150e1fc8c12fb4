#!/bin/sh
# mpi_ranks.sh PROGRAM: attention and its gradient have the same bits on 2, 4 and 8 processes of MPI as on threads, by each
# route. There may be fewer cores than processes. Deep: up to 1,048,576 keys.
set -eu
program=$1
[ -x "$program" ] || { echo "Skipped: softcheck_mpi_ranks was not built: no MPI (Debian: libopenmpi-dev)"; exit 77; }
command -v mpirun >/dev/null 2>&1 || { echo "Skipped: no mpirun"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpirun --version >"$work/version" 2>&1
options=
if grep -q 'Open MPI' "$work/version"; then options='--oversubscribe --bind-to none --mca btl self,vader'; fi
if [ "$(id -u)" = 0 ] && [ -n "$options" ]; then options="--allow-run-as-root $options"; fi

ranks() { # ranks, options of the program: must find the same bits
  count=$1
  shift
  # shellcheck disable=SC2086 # a list of words
  timeout 280 mpirun $options -np "$count" "$program" "$@" >"$work/out" 2>"$work/err" ||
    { echo "$count ranks: $*: exit $?"; cat "$work/out" "$work/err"; exit 1; }
  grep -q '^the bits are those of threads$' "$work/out" || { echo "$count ranks: $*: not compared"; cat "$work/out"; exit 1; }
  head -n 1 "$work/out"
}

for count in 2 4 8; do
  ranks $count --keys 8192 --adaptive
  ranks $count --keys 1000 --queries 900 --heads 2 --key-heads 1 --dim 24 --causal --adaptive --backward
done
ranks 3 --keys 3000 --queries 40 --causal --backward
ranks 8 --keys 2500 --causal --adaptive --route ring
ranks 8 --keys 2500 --queries 70 --causal --backward --route ring
ranks 4 --keys 2500 --causal --adaptive --route reduction
ranks 6 --keys 2500 --queries 70 --causal --adaptive --backward --route reduction
if [ "${SOFTCHECK_EFFORT:-}" = deep ]; then
  for count in 2 4 8; do ranks $count --keys 1048576 --adaptive; done
  ranks 8 --keys 1048576 --queries 4 --adaptive --backward
  for count in 2 4 8; do ranks $count --keys 16384 --queries 16384 --heads 1 --key-heads 1 --causal --adaptive; done
fi

status=0
# shellcheck disable=SC2086 # a list of words
mpirun $options -np 2 "$program" --nonsense >"$work/out" 2>&1 || status=$?
[ $status = 2 ] || { echo "exit $status for an unknown option"; cat "$work/out"; exit 1; }

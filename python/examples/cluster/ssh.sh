#!/bin/sh
# Machines that one can log in to: a scheduler here, a worker a core there, each with the package softcheck.
#   PLAN=plan.toml OUT=results KERNELS=/opt/kernels sh ssh.sh host1 host2 ...
# Without Dask: for each host `ssh HOST softcheck campaign plan.toml --out results --shard I/N`, then rsync the folders
# here and `softcheck campaign merge plan.toml results-*`.
set -eu
: "${PLAN:?}" "${OUT:?}" "${KERNELS:?}"
[ $# -gt 0 ] || { echo "ssh.sh: need hosts" >&2; exit 2; }
address=tcp://$(hostname -f):8786
dask scheduler --port 8786 --no-dashboard >scheduler.log 2>&1 &
scheduler=$!
workers=
trap 'kill $scheduler $workers 2>/dev/null || :' EXIT
for host do
  # -tt: the workers end with this login.
  ssh -tt "$host" "dask worker $address --nworkers auto --nthreads 1 --no-dashboard" >"worker-$host.log" 2>&1 </dev/null &
  workers="$workers $!"
done
python3 -m softcheck.campaign "$PLAN" --out "$OUT" --kernels "$KERNELS" --scheduler "$address"

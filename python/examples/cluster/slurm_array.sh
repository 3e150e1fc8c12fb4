#!/bin/sh
# Slurm without Dask: each task of the array judges its share, a last job merges. Results lie on a shared folder.
#   PLAN=plan.toml OUT=/shared/results KERNELS=/shared/lib sh slurm_array.sh 64
# Submit it again after a failure: each task judges only what is missing of its share.
set -eu
shares=${1:?number of tasks}
: "${PLAN:?}" "${OUT:?}" "${KERNELS:?}"
array=$(sbatch --parsable --array="1-$shares" --cpus-per-task=4 --time=04:00:00 --signal=TERM@60 --export=ALL,SHARES="$shares" --wrap \
  "exec softcheck campaign '$PLAN' --out '$OUT' --kernels '$KERNELS' --shard \$SLURM_ARRAY_TASK_ID/\$SHARES --processes \$SLURM_CPUS_PER_TASK")
sbatch --dependency="afterany:$array" --time=00:30:00 --wrap "exec softcheck campaign merge '$PLAN' '$OUT'"

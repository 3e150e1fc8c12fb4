"""Slurm through Dask: workers come and go with the queue; this process writes the results.

    pip install dask-jobqueue
    python slurm_dask.py plan.toml results /shared/lib
"""

import pathlib
import sys

from dask_jobqueue import SLURMCluster
from distributed import Client

from softcheck import campaign


def main(plan: str, out: str, kernels: str) -> int:
    with SLURMCluster(cores=4, processes=4, memory="8GB", walltime="04:00:00") as cluster, Client(cluster) as client:
        cluster.adapt(maximum_jobs=64)
        return campaign.run(pathlib.Path(plan), pathlib.Path(out), client, kernels)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

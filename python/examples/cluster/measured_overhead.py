"""What a shard costs beside its judgement: on Dask's workers of this machine, and by the processes of one command.

    python measured_overhead.py --kernels build/release/kernels --workers 1 2 4

docs/scale.md has a table of it. The wall's figure is (seconds x workers - judgements) / shards, where more workers than
cores wait for each other. The processor's is that of all processes together (scheduler, workers, commands), by the
difference of a long and a short plan, so that what a start costs falls out.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time
from typing import Callable, NamedTuple

from softcheck import campaign

PLAN = """
cases = 1
domain = "n<=4 theta=1 compact nomask finite"
seed = {seeds}
[[kernels]]
kernel = "libsoftcheck_zoo.so:correct_two_pass"
"""


class Cost(NamedTuple):
    wall: float  # seconds of the run
    processor: float  # seconds of all its processes
    judged: float  # seconds of the wall within judgements, of all workers together


def processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def judged_seconds(out: pathlib.Path) -> float:
    """As the shards' files say."""
    lines = [line for file in (out / "shards").glob("*.jsonl") for line in file.read_text().splitlines()]
    return sum(json.loads(line)["machine"]["seconds"] for line in lines if line.startswith('{"answer"'))


def by_command(plan: pathlib.Path, out: pathlib.Path, kernels: str, workers: int) -> float:
    """Seconds of the wall of `softcheck campaign --processes`."""
    command = [str(campaign._command()), "campaign", str(plan), "--out", str(out), "--kernels", kernels, "--processes", str(workers)]
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - start


def by_dask(plan: pathlib.Path, out: pathlib.Path, kernels: str, workers: int) -> float:
    """Seconds of the wall of a run on a cluster that stands already."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster, set_as_default=False) as client:
            start = time.monotonic()
            if campaign.run(plan, out, client, kernels) != 0:
                raise SystemExit("a judgement does not pass")
            return time.monotonic() - start


def cost(way: Callable[..., float], shards: int, kernels: str, workers: int) -> Cost:
    """One campaign in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        plan, out = pathlib.Path(folder) / "many.toml", pathlib.Path(folder) / "out"
        plan.write_text(PLAN.format(seeds=list(range(shards))))
        before = processor_seconds()
        wall = way(plan, out, kernels, workers)
        return Cost(wall, processor_seconds() - before, judged_seconds(out))


def main() -> None:
    """Prints a line for each way and number of workers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kernels", required=True, help="folder with libsoftcheck_zoo.so")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--shards", type=int, nargs=2, default=[20, 120], help="of the short and of the long plan")
    asked = parser.parse_args()
    few, many = asked.shards
    print("way       workers  wall s  judged s  beside, ms of the wall  all, ms of the processor  load")
    for name, way in (("command", by_command), ("dask", by_dask)):
        for workers in asked.workers:
            short, long = (cost(way, shards, os.path.abspath(asked.kernels), workers) for shards in (few, many))
            beside = (long.wall * workers - long.judged) / many * 1000
            processor = (long.processor - short.processor) / (many - few) * 1000
            load = os.getloadavg()[0]
            print(f"{name:8}  {workers:7}  {long.wall:6.1f}  {long.judged:8.1f}  {beside:22.0f}  {processor:24.0f}  {load:4.1f}", flush=True)


if __name__ == "__main__":
    main()

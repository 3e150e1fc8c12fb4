"""Campaigns on Dask: the same bytes for any number of workers, any kill."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from campaigns import KERNELS, all_files, finished, needs_kernels, reports, softcheck, until

from softcheck import campaign

pytestmark = needs_kernels
NUMBERS = [pytest.param(1, marks=pytest.mark.deep), 2, pytest.param(4, marks=pytest.mark.deep)]


@pytest.fixture
def distributed():
    return pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")


@pytest.fixture(scope="module")
def cluster_of():
    """Clusters by their number of workers: Dask starts another worker for one that a test kills."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")
    started = {}

    def cluster(workers):
        if workers not in started:
            started[workers] = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, worker_dashboard_address=None
            )
        return started[workers]

    yield cluster
    for one in started.values():
        one.close()


def kill_one(cluster, killed):
    """Once there is one: the worker that an earlier test has killed may not be replaced yet."""
    until(lambda: any(worker.pid for worker in cluster.workers.values()))
    killed.append(next(worker.pid for worker in cluster.workers.values() if worker.pid))
    os.kill(killed[0], signal.SIGKILL)


@contextlib.contextmanager
def a_worker_killed(cluster, out, finished_shards):
    """While the block runs, once so many shards are finished."""
    killed = []

    def disturb():
        until(lambda: len(finished(out)) >= finished_shards)
        kill_one(cluster, killed)

    thread = threading.Thread(target=disturb)
    thread.start()
    yield cluster
    thread.join()
    assert killed


def run_on(distributed, cluster, plan, out):
    """The exit code of campaign.run."""
    with distributed.Client(cluster, set_as_default=False) as client:
        return campaign.run(plan, out, client, str(KERNELS))


@pytest.mark.deep  # the next one has the same bytes, though a worker is killed
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_dask_changes_no_byte(distributed, cluster_of, plan, expected, tmp_path, workers):
    assert run_on(distributed, cluster_of(workers), plan, tmp_path) == 1
    assert reports(tmp_path) == expected


@pytest.mark.parametrize("workers", NUMBERS)
def test_dask_replaces_killed_workers(distributed, cluster_of, plan, expected, tmp_path, workers):
    with a_worker_killed(cluster_of(workers), tmp_path, finished_shards=1) as cluster:
        assert run_on(distributed, cluster, plan, tmp_path) == 1
    assert reports(tmp_path) == expected


@pytest.mark.parametrize("workers", NUMBERS)
def test_dask_certifies_and_trains_to_the_same_bytes(distributed, cluster_of, mixed, expected_mixed, tmp_path, workers):
    with a_worker_killed(cluster_of(workers), tmp_path, finished_shards=2) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            assert campaign.run(mixed, tmp_path, client, kept=str(tmp_path / "kept")) == 0
    assert all_files(tmp_path) == expected_mixed


def test_a_full_disk_of_dask_loses_nothing(distributed, cluster_of, plan, expected, small_disk):
    small, resize = small_disk("24k")
    with distributed.Client(cluster_of(2), set_as_default=False) as client:
        with pytest.raises(campaign.CampaignError, match=r"cannot write .*: No space left on device; \d+ of 20 shards") as failure:
            campaign.run(plan, small, client, str(KERNELS))
        assert failure.value.code == 2
        before = {file: file.read_bytes() for file in finished(small)}
        assert 0 < len(before) < 20 and not list((small / "shards").glob(".*"))
        resize("10m")
        assert campaign.run(plan, small, client, str(KERNELS)) == 1
    assert reports(small) == expected
    assert before.items() <= {file: file.read_bytes() for file in finished(small)}.items()


def program(*words):
    return subprocess.Popen([sys.executable, "-m", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(*processes):
    for process in processes:
        process.kill()
        process.communicate(timeout=60)


def scheduler_and_worker(folder):
    """Programs of their own, as on a cluster."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    scheduler = program("distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file)
    until(file.exists)
    until(lambda: file.read_text().endswith("}"))
    address = json.loads(file.read_text())["address"]
    worker = program("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--death-timeout", "280")
    return scheduler, worker, address


def test_a_killed_scheduler_loses_nothing(distributed, plan, expected, tmp_path):
    out = tmp_path / "out"
    words = ("softcheck.campaign", plan, "--out", out, "--kernels", KERNELS, "--scheduler")
    scheduler, worker, address = scheduler_and_worker(tmp_path)
    client = program(*words, address)
    try:
        until(lambda: len(finished(out)) >= 2)
        scheduler.kill()
        said = client.communicate(timeout=280)[1]
    finally:
        end(scheduler, worker, client)
    if client.returncode != 1:
        assert client.returncode == 5, said
        assert re.search(r"^softcheck: campaign: the scheduler is gone; \d+ of 20 shards were finished", said, re.M), said
    before = {file: file.stat().st_mtime_ns for file in finished(out)}
    assert len(before) >= 2

    scheduler, worker, address = scheduler_and_worker(tmp_path)
    client = program(*words, address)
    try:
        client.communicate(timeout=280)
    finally:
        end(scheduler, worker, client)
    assert client.returncode == 1
    assert reports(out) == expected
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_everything_is_killed_and_the_plain_command_goes_on(distributed, plan, expected, tmp_path):
    out = tmp_path / "out"
    scheduler, worker, address = scheduler_and_worker(tmp_path)
    client = program("softcheck.campaign", plan, "--out", out, "--kernels", KERNELS, "--scheduler", address)
    try:
        until(lambda: len(finished(out)) >= 1)
    finally:
        end(client, scheduler, worker)
    assert len(finished(out)) >= 1
    assert softcheck(plan, "--out", out, "--kernels", KERNELS).returncode == 1
    assert reports(out) == expected

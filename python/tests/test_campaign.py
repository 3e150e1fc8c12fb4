"""Campaigns: the same bytes for any number of workers, any kill, any order; with Dask and without."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from softcheck import campaign

LIBRARY = os.environ.get("SOFTCHECK_LIBRARY", "")
COMMAND = pathlib.Path(LIBRARY).parent / "softcheck" if LIBRARY else pathlib.Path(campaign.__file__).parent / "bin" / "softcheck"
KERNELS = pathlib.Path(os.environ.get("SOFTCHECK_KERNELS", "nowhere"))
REPORTS = ("report.txt", "report.json", "report.xml", "report.html")
PLAN = """
name = "small"
cases = 3
domain = "n<=32 theta=1 compact nomask"
seed = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
[[kernels]]
kernel = ["libsoftcheck_zoo.so:correct_two_pass", "libsoftcheck_zoo.so:mutant_no_max_shift"]
"""

pytestmark = pytest.mark.skipif(
    not (KERNELS / "libsoftcheck_zoo.so").exists(), reason="SOFTCHECK_KERNELS names no folder with the planted bugs"
)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    file = tmp_path_factory.mktemp("plan") / "plan.toml"
    file.write_text(PLAN)
    return file


def softcheck(*arguments, **options):
    return subprocess.run([COMMAND, "campaign", *map(str, arguments)], capture_output=True, text=True, timeout=280, **options)


def reports(out):
    return {name: (out / name).read_bytes() for name in REPORTS}


def finished(out):
    return sorted((out / "shards").glob("*.jsonl")) if out.exists() else []


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def expected(plan, tmp_path_factory):
    """The report of a campaign that nothing disturbed, on one process."""
    out = tmp_path_factory.mktemp("expected")
    done = softcheck(plan, "--out", out, "--kernels", KERNELS, "--processes", 1)
    assert done.returncode == 1 and done.stderr == "", done.stderr  # a bug is planted in one kernel
    assert "campaign small: 20 judgements: 10 fail, 10 pass" in done.stdout
    return reports(out)


def test_reports_have_no_machine_and_no_time(expected):
    text = b"".join(expected.values()).decode()
    for word in (os.uname().nodename, str(KERNELS), "isolation", 'time="'):
        assert word not in text, word
    claims = json.loads(expected["report.json"])["claims"]
    assert all(claim["seconds"] is None for claim in claims)
    assert {claim["subject"].rsplit("seed ")[1] for claim in claims} == {str(seed) for seed in range(1, 11)}


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_change_no_byte(plan, expected, tmp_path, processes):
    done = softcheck(plan, "--out", tmp_path, "--kernels", KERNELS, "--processes", processes)
    assert done.returncode == 1
    assert reports(tmp_path) == expected


def test_shares_in_folders_of_their_own_merge_to_the_same_bytes(plan, expected, tmp_path):
    folders = [tmp_path / str(i) for i in (3, 1, 2)]
    for folder in folders:
        done = softcheck(plan, "--out", folder, "--kernels", KERNELS, "--shard", f"{folder.name}/3")
        assert done.returncode == 0 and not (folder / "report.txt").exists()
    some = softcheck("merge", plan, *folders[:2])
    assert some.returncode == 5 and re.search(r"^softcheck: campaign: \d+ of 20 shards are missing", some.stderr), some.stderr
    # A folder that is named twice brings every shard a second time.
    done = softcheck("merge", plan, *folders, folders[0], "--out", tmp_path / "all")
    assert done.returncode == 1 and done.stderr == ""
    assert reports(tmp_path / "all") == expected


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interruption_loses_nothing_that_was_finished(plan, expected, tmp_path, end):
    out = tmp_path / "out"
    command = [COMMAND, "campaign", plan, "--out", out, "--kernels", KERNELS, "--processes", "2"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: len(finished(out)) >= 2 or running.poll() is not None)
    running.send_signal(end)
    said = running.communicate(timeout=60)[1]
    if running.returncode != 1:  # else it was as quick as this test
        assert running.returncode == (-9 if end == signal.SIGKILL else 5), said
        assert end == signal.SIGKILL or "shards were finished; the same command goes on" in said
    before = {file: file.stat().st_mtime_ns for file in finished(out)}
    assert len(before) >= 2
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 1, done.stderr
    assert reports(out) == expected
    assert {file: file.stat().st_mtime_ns for file in before} == before  # none was judged again


def children(process):
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True)
    return [int(pid) for pid in done.stdout.split()]


@pytest.mark.skipif(shutil.which("ps") is None, reason="no ps")
def test_a_killed_worker_is_replaced(plan, expected, tmp_path):
    command = [COMMAND, "campaign", plan, "--out", tmp_path, "--kernels", KERNELS, "--processes", "2"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    killed = 0
    for _ in range(3):
        until(lambda: children(running.pid) or running.poll() is not None)
        for child in children(running.pid)[:1]:
            try:
                os.kill(child, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
        time.sleep(0.1)
    said = running.communicate(timeout=280)[1]
    assert killed and running.returncode == 1, said
    assert reports(tmp_path) == expected


def test_partial_files_are_judged_again(plan, expected, tmp_path):
    softcheck(plan, "--out", tmp_path, "--kernels", KERNELS)
    first, second, *_ = finished(tmp_path)
    first.write_bytes(first.read_bytes()[:-30])
    second.write_bytes(b"")
    listed = softcheck(plan, "--out", tmp_path, "--kernels", KERNELS, "--list").stdout
    assert listed.count("\tdamaged\t") == 2 and listed.count("\tfinished\t") == 18
    assert softcheck("merge", plan, tmp_path).returncode == 5
    done = softcheck(plan, "--out", tmp_path, "--kernels", KERNELS)
    assert done.stderr == "softcheck: 2 damaged shards are judged again\n"
    assert reports(tmp_path) == expected


@pytest.mark.skipif(not os.path.exists("/dev/full") or os.geteuid() != 0, reason="needs the right to mount a small disk")
def test_a_full_disk_loses_nothing(plan, expected, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", small], capture_output=True).returncode != 0:
        pytest.skip("no right to mount a small disk")
    try:
        done = softcheck(plan, "--out", small, "--kernels", KERNELS, "--processes", 1)
        assert done.returncode == 2, done.stderr
        assert re.search(r"^softcheck: campaign: cannot write .*: No space left on device; \d+ of 20 shards", done.stderr), done.stderr
        assert done.stderr.count("\n") == 1
        kept = {file.name: file.read_bytes() for file in finished(small)}
        assert 0 < len(kept) < 20
        assert not list((small / "shards").glob(".*"))  # what did not fit is gone
        subprocess.run(["mount", "-o", "remount,size=10m", small], check=True)
        done = softcheck(plan, "--out", small, "--kernels", KERNELS, "--processes", 1)
        assert done.returncode == 1, done.stderr
        assert reports(small) == expected
        assert kept.items() <= {file.name: file.read_bytes() for file in finished(small)}.items()
    finally:
        subprocess.run(["umount", small], check=False)


# Models by layers, and trainings.

ROOT = pathlib.Path(__file__).parents[2]
TINY = ROOT / "proptests" / "tests" / "models" / "checkpoints"
MIXED = """
name = "mixed"
[[models]]
model = ["{tiny}/llama", "{tiny}/gguf-bert/model.gguf"]
layers = "0-1"
[[trainings]]
network = "max-retrieval"
steps = {steps}
sets = 16
seed = [1, 2]
test-sizes = [8, 32]
test-sets = 16
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    file = tmp_path_factory.mktemp("mixed") / "mixed.toml"
    file.write_text(MIXED.format(tiny=TINY, steps=300))
    return file


def all_files(out):
    """The report, a page for each model and the networks, by their paths."""
    skipped = {"shards", "kept", "hosts.tsv"}
    return {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file() and file.relative_to(out).parts[0] not in skipped}


@pytest.fixture(scope="module")
def expected_mixed(mixed, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected_mixed")
    done = softcheck(mixed, "--out", out, "--processes", 1)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.startswith("campaign mixed: 2 models: 2 pass; 2 trainings: 2 pass\n")
    files = all_files(out)
    assert set(files) == {*REPORTS, "model-1.html", "model-2.html", "trained/1/seed-01.safetensors", "trained/1/seed-02.safetensors"}
    assert not (out / "kept").exists()
    return files


@pytest.mark.parametrize("number, model", [(1, "llama"), (2, "gguf-bert/model.gguf")])
def test_a_model_by_layers_is_what_one_command_certifies(mixed, expected_mixed, tmp_path, number, model):
    page, data = tmp_path / "page.html", tmp_path / "data.json"
    words = [COMMAND, "model", f"{TINY}/{model}", "--html", page, "--json", data]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert page.read_bytes() == expected_mixed[f"model-{number}.html"]
    table = done.stdout[: done.stdout.rindex("\npass: ")]
    assert table.count("\n") > 8 and table in expected_mixed["report.txt"].decode()
    report = json.loads(expected_mixed["report.json"])
    theirs, ours = json.loads(data.read_text()), report["models"][number - 1]["certificate"]
    assert (ours["model"], ours["heads"]) == (theirs["model"], theirs["heads"])
    claims = [{**claim, "seconds": None} for claim in theirs["claims"]]
    assert [claim for claim in report["claims"] if claim["subject"] == f"{TINY}/{model}"] == claims


def test_a_trained_network_is_that_of_the_trainer(expected_mixed, tmp_path):
    file = tmp_path / "network.safetensors"
    words = [COMMAND, "run", "train", "--out", file, "--steps", 300, "--sets", 16, "--seed", 2]
    subprocess.run(list(map(str, words)), check=True, capture_output=True, timeout=280)
    assert file.read_bytes() == expected_mixed["trained/1/seed-02.safetensors"]
    networks = json.loads(expected_mixed["report.json"])["trainings"][0]["networks"]
    import hashlib

    assert [network["sha256"] for network in networks] == [
        hashlib.sha256(expected_mixed[f"trained/1/seed-0{seed}.safetensors"]).hexdigest() for seed in (1, 2)
    ]


def test_shares_of_models_and_trainings_merge_to_the_same_bytes(mixed, expected_mixed, tmp_path):
    folders = [tmp_path / str(i) for i in (2, 3, 1)]
    for folder in folders:
        done = softcheck(mixed, "--out", folder, "--shard", f"{folder.name}/3")
        assert done.returncode == 0, done.stderr
    done = softcheck("merge", mixed, *folders, "--out", tmp_path / "all")
    assert done.returncode == 0, done.stderr
    assert all_files(tmp_path / "all") == expected_mixed


def kept(out):
    return sorted((out / "kept").glob("*.checkpoint")) if (out / "kept").exists() else []


def resumed(out):
    lines = [line for file in finished(out) for line in file.read_text().splitlines() if line.startswith('{"answer"')]
    return [json.loads(line)["machine"]["resumed_at"] for line in lines]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_training_goes_on_inside_its_shard(tmp_path, end):
    plan = tmp_path / "long.toml"
    plan.write_text(MIXED.format(tiny=TINY, steps=6000).replace("seed = [1, 2]", "seed = 1"))
    whole = tmp_path / "whole"
    assert softcheck(plan, "--out", whole).returncode == 0
    out = tmp_path / "out"
    command = [COMMAND, "campaign", plan, "--out", out, "--processes", "1"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: kept(out) or running.poll() is not None)
    running.send_signal(end)
    running.communicate(timeout=60)
    assert running.returncode == (-9 if end == signal.SIGKILL else 5)
    assert len(kept(out)) == 1 and len(finished(out)) == 4  # the models' layers
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert max(resumed(out)) > 0
    assert all_files(out) == all_files(whole)
    assert not (out / "kept").exists()


def test_an_edited_checkpoint_is_certified_again(tmp_path):
    shutil.copytree(TINY / "llama", tmp_path / "llama")
    plan = tmp_path / "plan.toml"
    plan.write_text('[[models]]\nmodel = "llama"\nlayers = "0-1"\n')
    assert softcheck(plan, "--out", tmp_path / "out").returncode == 0
    file = tmp_path / "llama" / "model.safetensors"
    data = bytearray(file.read_bytes())
    header = int.from_bytes(data[:8], "little")
    begin = json.loads(data[8 : 8 + header])["model.layers.1.self_attn.k_proj.weight"]["data_offsets"][0]
    data[8 + header + begin] ^= 1
    file.write_bytes(data)
    listed = softcheck(plan, "--out", tmp_path / "out", "--list").stdout
    assert "\tfinished\t1\tsoftcheck model 'llama' --layers 0\n" in listed
    assert "\tother\t1\tsoftcheck model 'llama' --layers 1\n" in listed


def test_what_is_wrong_with_a_model_is_one_line(tmp_path):
    plan = tmp_path / "plan.toml"
    for words, code, said in (
        (f'model = "{TINY}/llama"\nlayers = "0-2"', 2, r"llama: layers: need layers of 0-1, got 2"),
        ('model = "nowhere"\nlayers = "0"', 2, r"nowhere: is not there"),
        (f'model = "{TINY}/llama"\nlayers = "0"\ncontext = true\nn = 99999999', 2, r"context: need at most the model's \d+ items, got 99999999"),
    ):
        plan.write_text(f"[[models]]\n{words}\n")
        done = softcheck(plan, "--out", tmp_path / "out")
        assert done.returncode == code and done.stderr.count("\n") == 1, done.stderr
        assert re.search(said, done.stderr), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to mount a small disk")
def test_a_full_disk_loses_no_training(mixed, expected_mixed, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    # A network's shard takes 620 KiB: there is room for the models and one of the two.
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", small], capture_output=True).returncode != 0:
        pytest.skip("no right to mount a small disk")
    try:
        done = softcheck(mixed, "--out", small, "--kept", tmp_path / "kept", "--processes", 1)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert re.search(r"^softcheck: campaign: cannot write .*: No space left on device; 5 of 6 shards", done.stderr), done.stderr
        before = {file: file.stat().st_mtime_ns for file in finished(small)}
        assert len(before) == 5
        subprocess.run(["mount", "-o", "remount,size=20m", small], check=True)
        done = softcheck(mixed, "--out", small, "--processes", 1)
        assert done.returncode == 0, done.stderr
        assert all_files(small) == expected_mixed
        assert {file: file.stat().st_mtime_ns for file in before} == before
    finally:
        subprocess.run(["umount", small], check=False)


def test_a_file_of_limited_size_is_a_full_disk(mixed, tmp_path):
    """RLIMIT_FSIZE: no shard of a network fits, and those of the models are finished."""
    import resource

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = softcheck(mixed, "--out", tmp_path, "--processes", 1, preexec_fn=limit)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "File too large; 4 of 6 shards were finished" in done.stderr
    assert len(finished(tmp_path)) == 4 and not list((tmp_path / "shards").glob(".*"))


# Dask.


@pytest.fixture
def distributed():
    return pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")


def cluster_of(distributed, workers):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, worker_dashboard_address=None
    )


def run_on(distributed, cluster, plan, out, disturb=None):
    """campaign.run beside a disturbance of the cluster; its exit code."""
    with distributed.Client(cluster, set_as_default=False) as client:
        if disturb is not None:
            disturb(client)
        return campaign.run(plan, out, client, str(KERNELS))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_dask_changes_no_byte(distributed, plan, expected, tmp_path, workers):
    with cluster_of(distributed, workers) as cluster:
        assert run_on(distributed, cluster, plan, tmp_path) == 1
    assert reports(tmp_path) == expected


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_dask_replaces_killed_workers(distributed, plan, expected, tmp_path, workers):
    import threading

    killed = []

    def kill_one(cluster):
        until(lambda: len(finished(tmp_path)) >= 1)
        worker = next(iter(cluster.workers.values()))
        killed.append(worker.pid)
        os.kill(killed[0], signal.SIGKILL)

    with cluster_of(distributed, workers) as cluster:
        thread = threading.Thread(target=kill_one, args=(cluster,))
        thread.start()
        assert run_on(distributed, cluster, plan, tmp_path) == 1
        thread.join()
    assert killed
    assert reports(tmp_path) == expected


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_dask_certifies_and_trains_to_the_same_bytes(distributed, mixed, expected_mixed, tmp_path, workers):
    import threading

    def kill_one(cluster):
        until(lambda: len(finished(tmp_path)) >= 2)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

    with cluster_of(distributed, workers) as cluster:
        thread = threading.Thread(target=kill_one, args=(cluster,))
        thread.start()
        with distributed.Client(cluster, set_as_default=False) as client:
            assert campaign.run(mixed, tmp_path, client, kept=str(tmp_path / "kept")) == 0
        thread.join()
    assert all_files(tmp_path) == expected_mixed


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to mount a small disk")
def test_a_full_disk_of_dask_loses_nothing(distributed, plan, expected, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", small], capture_output=True).returncode != 0:
        pytest.skip("no right to mount a small disk")
    try:
        with cluster_of(distributed, 2) as cluster, distributed.Client(cluster, set_as_default=False) as client:
            with pytest.raises(campaign.CampaignError, match=r"cannot write .*: No space left on device; \d+ of 20 shards") as failure:
                campaign.run(plan, small, client, str(KERNELS))
            assert failure.value.code == 2
            before = {file: file.read_bytes() for file in finished(small)}
            assert 0 < len(before) < 20 and not list((small / "shards").glob(".*"))
            subprocess.run(["mount", "-o", "remount,size=10m", small], check=True)
            assert campaign.run(plan, small, client, str(KERNELS)) == 1
        assert reports(small) == expected
        assert before.items() <= {file: file.read_bytes() for file in finished(small)}.items()
    finally:
        subprocess.run(["umount", small], check=False)


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
    worker = program("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--death-timeout", "20")
    return scheduler, worker, address


def test_a_killed_scheduler_loses_nothing(distributed, plan, expected, tmp_path):
    out = tmp_path / "out"
    words = ("softcheck.campaign", plan, "--out", out, "--kernels", KERNELS, "--scheduler")
    scheduler, worker, address = scheduler_and_worker(tmp_path)
    client = program(*words, address)
    try:
        until(lambda: len(finished(out)) >= 2)
        scheduler.kill()
        said = client.communicate(timeout=120)[1]
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


def test_shards_of_ten_seconds_keep_a_thousand_workers_busy(monkeypatch):
    """docs/scale.md's advice, and that the simulation loses no shard and notices what costs."""
    monkeypatch.syspath_prepend(str(pathlib.Path(__file__).parents[1] / "examples" / "cluster"))
    import simulated_scale as scale

    judgements = scale.Judgements(count=400_000)
    of_size = {size: scale.simulate(scale.Cluster(), judgements, size) for size in (5, 100)}
    assert 0.95 <= of_size[5].efficiency <= 1
    assert of_size[100].efficiency < 0.9
    few = scale.Judgements(count=2000)
    ideal = scale.Cluster(workers=1, dispatch=0, delay=0, deaths=0)
    assert scale.simulate(ideal, few, 3).efficiency == pytest.approx(1, rel=1e-9)  # every second of one worker is used
    mortal = scale.simulate(scale.Cluster(workers=20, deaths=0.5, absence=1), few, 3)
    assert mortal.deaths > 0 and mortal.efficiency < scale.simulate(scale.Cluster(workers=20, deaths=0), few, 3).efficiency


def test_wrong_input_is_one_line(tmp_path, plan):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[[kernels]]\n")

    def refused(*arguments):
        done = subprocess.run([sys.executable, "-m", "softcheck.campaign", *map(str, arguments)], capture_output=True, text=True, timeout=120)
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("softcheck: "), done.stderr
        return done.returncode, done.stderr

    code, said = refused(wrong, "--out", tmp_path)
    assert code == 3 and "wrong.toml:1: need kernel" in said
    code, said = refused(tmp_path / "none.toml", "--out", tmp_path, "--scheduler", "tcp://127.0.0.1:1")
    assert code == 2 and "need a plan that can be read" in said
    pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")
    code, said = refused(plan, "--out", tmp_path, "--scheduler", "nothing://here")
    assert code == 2 and "no scheduler answers" in said


def test_without_dask_it_says_so(plan, tmp_path):
    blocked = tmp_path / "distributed.py"
    blocked.write_text("raise ImportError('not here')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-m", "softcheck.campaign", plan, "--out", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 4
    assert done.stderr == "softcheck: campaign: --scheduler needs Dask: pip install distributed\n"

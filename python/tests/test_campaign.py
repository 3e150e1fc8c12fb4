"""Campaigns: the same bytes for any number of processes, any kill, any order.
Campaigns of models by layers and of trainings."""

import json
import os
import pathlib
import pytest
import re
import shutil
import signal
import subprocess
import sys
from campaigns import COMMAND, KERNELS, MIXED, TINY, all_files, finished, needs_kernels, reports, softcheck, until


pytestmark = needs_kernels


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
    said = running.communicate(timeout=280)[1]
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
    for out in (tmp_path / str(i) for i in range(9)):  # a campaign may end before this test sees a child of it
        command = [COMMAND, "campaign", plan, "--out", out, "--kernels", KERNELS, "--processes", "2"]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        killed = set()
        while len(killed) < 2 and running.poll() is None:  # the third death of one shard's process ends its campaign
            for child in {*children(running.pid)} - killed:
                try:
                    os.kill(child, signal.SIGKILL)
                    killed.add(child)
                except ProcessLookupError:
                    pass
                break
        said = running.communicate(timeout=280)[1]
        assert running.returncode == 1, said
        assert reports(out) == expected
        if killed:
            return
    pytest.fail("no campaign had a child to kill")


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


def test_a_full_disk_loses_nothing(plan, expected, small_disk):
    small, resize = small_disk("24k")
    done = softcheck(plan, "--out", small, "--kernels", KERNELS, "--processes", 1)
    assert done.returncode == 2, done.stderr
    assert re.search(r"^softcheck: campaign: cannot write .*: No space left on device; \d+ of 20 shards", done.stderr), done.stderr
    assert done.stderr.count("\n") == 1
    kept = {file.name: file.read_bytes() for file in finished(small)}
    assert 0 < len(kept) < 20
    assert not list((small / "shards").glob(".*"))  # what did not fit is gone
    resize("10m")
    done = softcheck(plan, "--out", small, "--kernels", KERNELS, "--processes", 1)
    assert done.returncode == 1, done.stderr
    assert reports(small) == expected
    assert kept.items() <= {file.name: file.read_bytes() for file in finished(small)}.items()


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
        command = [sys.executable, "-m", "softcheck.campaign", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280)
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
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=280, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 4
    assert done.stderr == "softcheck: campaign: --scheduler needs Dask: pip install distributed\n"


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


@pytest.mark.parametrize("end", [pytest.param(signal.SIGTERM, marks=pytest.mark.deep), signal.SIGKILL])
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
    running.communicate(timeout=280)
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


def test_a_full_disk_loses_no_training(mixed, expected_mixed, small_disk, tmp_path):
    small, resize = small_disk("900k")  # a network's shard takes 620 KiB: there is room for the models and one of the two
    done = softcheck(mixed, "--out", small, "--kept", tmp_path / "kept", "--processes", 1)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert re.search(r"^softcheck: campaign: cannot write .*: No space left on device; 5 of 6 shards", done.stderr), done.stderr
    before = {file: file.stat().st_mtime_ns for file in finished(small)}
    assert len(before) == 5
    resize("20m")
    done = softcheck(mixed, "--out", small, "--processes", 1)
    assert done.returncode == 0, done.stderr
    assert all_files(small) == expected_mixed
    assert {file: file.stat().st_mtime_ns for file in before} == before


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

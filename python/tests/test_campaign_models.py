"""Campaigns of models by layers and of trainings."""

import json
import re
import shutil
import signal
import subprocess

import pytest
from campaigns import COMMAND, MIXED, TINY, all_files, finished, needs_kernels, softcheck, until

pytestmark = needs_kernels


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

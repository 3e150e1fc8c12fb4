"""What the tests of campaigns share: plans, the command, and what a campaign leaves behind."""

import os
import pathlib
import subprocess
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

needs_kernels = pytest.mark.skipif(
    not (KERNELS / "libsoftcheck_zoo.so").exists(), reason="SOFTCHECK_KERNELS names no folder with the planted bugs"
)


def softcheck(*arguments, **options):
    return subprocess.run([COMMAND, "campaign", *map(str, arguments)], capture_output=True, text=True, timeout=280, **options)


def reports(out):
    return {name: (out / name).read_bytes() for name in REPORTS}


def finished(out):
    return sorted((out / "shards").glob("*.jsonl")) if out.exists() else []


def until(condition, seconds=280):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def all_files(out):
    """The report, a page for each model and the networks, by their paths."""
    skipped = {"shards", "kept", "hosts.tsv"}
    return {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file() and file.relative_to(out).parts[0] not in skipped}

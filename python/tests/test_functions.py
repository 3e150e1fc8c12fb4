"""python -m softcheck.functions: functions named on a command line."""

import os
import pathlib
import subprocess
import sys
from xml.etree import ElementTree

import pytest

SOURCE = """
import numpy as np

def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def wrong(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)

class Logits:
    @staticmethod
    def logsumexp(x):
        m = x.max(axis=-1)
        return m + np.log(np.exp(x - m[..., None]).sum(axis=-1))
"""
FEW = ("--domain", "n>=1 n<=64 rows<=8 finite")


def run(folder, *arguments):
    (folder / "mine.py").write_text(SOURCE)
    (folder / "broken.py").write_text("import nothing_of_this_name")
    path = os.pathsep.join([str(pathlib.Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "softcheck.functions", *arguments]
    return subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)


def test_functions_are_judged_one_after_the_other(tmp_path):
    ended = run(tmp_path, "mine:softmax=softmax", "mine:Logits.logsumexp=logsumexp", "mine:wrong=softmax", *FEW, "--junit", "all.xml")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert [line.split(":")[0] for line in ended.stdout.splitlines() if line in ("pass",) or line.startswith("fail:")] == ["pass", "pass", "fail"]
    root = ElementTree.parse(tmp_path / "all.xml").getroot()
    assert len(root.findall("testsuite")) == 3
    assert int(root.get("tests")) == len(list(root.iter("testcase"))) and int(root.get("failures")) >= 1
    assert run(tmp_path, "mine:softmax=softmax", *FEW).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine:softmax"], "need MODULE:FUNCTION=OP, got 'mine:softmax'"),
        (["mine:softmax=softmax", "mine:max=softmax"], "mine:max: need a function of the module, got none of that name"),
        (["broken:f=softmax"], "broken:f: the module cannot be imported: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        (["mine:softmax=sofmax"], "op: need one of"),
        (["mine:softmax=softmax", "--domain", "n<="], "n<="),
        (["mine:softmax=softmax", "--dtype", "int8"], "dtype: need"),
    ],
)
def test_what_is_wrong_gets_one_line(arguments, message, tmp_path):
    ended = run(tmp_path, *arguments)
    assert ended.returncode == 2 and message in ended.stderr, ended.stderr
    assert ended.stderr.startswith("softcheck.functions: ") and ended.stderr.count("\n") == 1 and not ended.stdout


def test_the_arrays_are_those_of_the_library_that_a_module_imports():
    import types

    from softcheck import functions

    module = types.ModuleType("mine")
    assert functions._library(module) is None
    module.F = types.ModuleType("torch.nn.functional")
    assert functions._library(module) == "torch"
    assert functions._library(types.SimpleNamespace(jit=type("jit", (), {"__module__": "jax._src"}))) == "jax"

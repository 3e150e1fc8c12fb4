"""Words of fixed lists as types: what a type checker refuses is what softcheck refuses."""

import importlib.util
import inspect
import os
import pathlib
import subprocess
import sys
from typing import get_args

import pytest
import softcheck
from softcheck import _dtypes, _words

FOLDER = pathlib.Path(__file__).parents[1]
# Each line that ends in "# red" has a misspelt or foreign word; no other line has an error.
CALLS = """
import numpy as np
import softcheck

x = np.zeros((1, 2), np.float32)

def softmax(x: np.ndarray) -> np.ndarray:
    return x

softcheck.check(softmax, op="softmax", dtype="bf16", effort="deep", isolation="spawn", arrays="jax", shapes="few")
softcheck.check(softmax, "softmax", np.float64, out_dtype=np.dtype("float32"), cases=3)
softcheck.check(softmax, op="sofmax")  # red
softcheck.check(softmax, dtype="flaot32")  # red
softcheck.check(softmax, out_dtype="flaot32")  # red
softcheck.check(softmax, effort="quik")  # red
softcheck.check(softmax, isolation="frok")  # red
softcheck.check(softmax, arrays="pytorch")  # red
softcheck.check(softmax, shapes="all")  # red
softcheck.infer(softmax, "softmax", effort="default", domain="n>=1")
softcheck.infer(softmax, op="sofmax")  # red
softcheck.infer(softmax, effort="quik")  # red
softcheck.infer(softmax, contract="acc=f32")  # red
softcheck.check(softmax, op="attention_backward", autograd=True)
softcheck.scorecard({"softmax": softmax}, dtypes=["float32", "bf16"], effort="quick")
softcheck.scorecard(softmax, op="sofmax")  # red
softcheck.scorecard(softmax, dtypes=["flaot32"])  # red
softcheck.scorecard(softmax, efort="quick")  # red
softcheck.assert_output("softmax", x, x, theta=2)
softcheck.assert_output("sofmax", x, x)  # red
softcheck.assert_output("softmax", x, x, thta=2)  # red
softcheck.assert_output("cross_entropy_mean", x, x, reduction="average")  # red
softcheck.threshold("sofmax", x)  # red
softcheck.reference("sofmax", x)  # red

@softcheck.kernel(op="softmax", dtypes=["float32", np.float64], effort="deep", contract="masked=zero")
def right(x: np.ndarray) -> np.ndarray:
    return x

@softcheck.kernel(op="softmax", dtype="float32")
def one(x: np.ndarray) -> np.ndarray:
    return x

softcheck.kernel(op="sofmax")  # red
softcheck.kernel(dtypes=["flaot32"])  # red
softcheck.kernel(dtypes="flaot32")  # red
softcheck.kernel(efort="deep")  # red
softcheck.kernel(effort="quik")  # red
"""


def words_of_error(**argument):
    with pytest.raises(softcheck.UsageError) as error:
        softcheck.check(lambda x: x, **{"domain": "n=2", **argument})
    return str(error.value)


def test_the_words_are_those_of_describe_and_of_the_library():
    tables = softcheck.describe()
    assert get_args(_words.OpName) == tuple(op["name"] for op in tables["ops"])
    assert set(get_args(_words.DtypeName)) == set(_dtypes.DTYPES)
    assert set(_dtypes.DTYPES.values()) == {dtype["name"] for dtype in tables["dtypes"]}
    told = words_of_error(effort="none").split("need ")[1].split(", got")[0]
    assert set(told.replace(" or ", ", ").split(", ")) == set(get_args(_words.Effort))


def test_the_defaults_are_among_them():
    defaults = {name: parameter.default for name, parameter in inspect.signature(softcheck.check).parameters.items()}
    for name, words in [("op", _words.OpName), ("dtype", _words.DtypeName), ("effort", _words.Effort), ("isolation", _words.Isolation)]:
        assert defaults[name] in get_args(words)


def test_the_keyword_arguments_are_those_of_check():
    keywords = inspect.signature(softcheck.check).parameters.values()
    assert {name: kind.__forward_arg__ for name, kind in _words.CheckArguments.__annotations__.items()} == {
        parameter.name: parameter.annotation for parameter in keywords if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert set(_words.CheckArguments.__annotations__) - set(_words.InferArguments.__annotations__) == {"contract", "replay"}
    assert set(_words.KernelArguments.__annotations__) - set(_words.CheckArguments.__annotations__) == {"dtype"}


def test_mypy_refuses_other_words(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("needs mypy")
    calls = tmp_path / "calls.py"
    calls.write_text(CALLS)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", tmp_path / "cache", calls],
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": str(FOLDER)},
    )
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    assert found == {i for i, line in enumerate(CALLS.splitlines(), 1) if line.endswith("# red")}, done.stdout + done.stderr

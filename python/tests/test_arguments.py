"""What check refuses before it calls anything, and what it must not refuse."""

import functools
import importlib.util
import os
import pathlib
import subprocess
import sys

import kernels
import numpy as np
import pytest

import softcheck


@pytest.mark.parametrize(
    "function, op, message",
    [
        (lambda: 1, "softmax", r"softmax can call with \(logits\), got <lambda>\(\): too many positional arguments"),
        (lambda x, block: x, "softmax", r"\(logits\), got <lambda>\(x, block\): missing a required argument: 'block'"),
        (lambda q, k, scale: q, "attention", r"\(q, k, v, scale=\), got .*: multiple values for argument 'scale'"),
        (lambda x, mask, /: x, "softmax", r"\(logits, mask=\), got "),
    ],
)
def test_a_function_that_no_call_can_reach_is_a_wrong_argument(function, op, message):
    with pytest.raises(softcheck.UsageError, match=f"^function: need one that .*{message}"):
        softcheck.check(function, op)


def test_a_function_whose_signature_says_nothing_is_called():
    @functools.wraps(lambda x, block: x)  # has that signature, and another call
    def wrapped(x):
        return kernels.softmax(x)

    class Callable:
        def __call__(self, *arrays):
            return kernels.softmax(*arrays)

    for function in (wrapped, Callable(), functools.partial(kernels.softmax), lambda *arrays: kernels.softmax(*arrays)):
        assert softcheck.check(function, domain="n<=9 rows<=3", cases=1).verdict == "pass"
    assert softcheck.check(min, domain="n>=3 n<=9 rows<=3", cases=1).verdict == "fail"  # a builtin without a signature


def test_a_dtype_that_there_is_not_is_a_wrong_argument():
    with pytest.raises(softcheck.UsageError, match="dtype: need float64, .* got 'float23'"):
        softcheck.check(kernels.softmax, dtype="float23")


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"effort": 5}, "effort: need a text, got 5"),
        ({"replay": 1}, "replay: need a text, got 1"),
        ({"effort": "quick\0"}, "effort: need a text, got "),
        ({"contract": 5}, "need words in one text, or one by one, got 5"),
        ({"domain": ["n<=8", 3]}, r"need words in one text, or one by one, got \['n<=8', 3\]"),
        ({"seed": "x"}, "seed: need a whole number from 0 to 18446744073709551615, got 'x'"),
        ({"cases": 1.5}, "cases: need a whole number"),
        ({"max_length": 2**70}, "max_length: need a whole number"),
        ({"budget": "1"}, "budget: need a number, got '1'"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(wrong, message):
    # ctypes takes an integer for the address of a text, and the low bits of one that is too large.
    with pytest.raises(softcheck.UsageError, match=message):
        softcheck.check(kernels.softmax, **wrong)


def test_a_wrong_word_is_told_with_its_option_once():
    with pytest.raises(softcheck.UsageError, match="^softcheck: effort: need quick, .*, got 'full'"):
        softcheck.check(kernels.softmax, effort="full")
    with pytest.raises(softcheck.UsageError, match="^softcheck: domain: need a word of rows, got 'foo': a length"):
        softcheck.check(kernels.softmax, domain="foo")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"op": "softmx"}, "op: need one of softmax,"),
        ({"dtype": "int8"}, f"dtype: need {', '.join(kernels.DTYPES[:-1])} or {kernels.DTYPES[-1]}, got 'int8'"),
        ({"contract": "acc=f3"}, "contract: need acc="),
        ({"domain": "m=3"}, "domain: "),
        ({"domain": "nocausal"}, "domain: need a word of rows, got 'nocausal', which is one of attention: "),
        ({"domain": "keys>=1"}, "domain: need a word of rows, got 'keys>=1', which is one of attention: "),
        ({"effort": "long"}, "effort: "),
        ({"isolation": "box"}, "isolation: need one of auto, fork, spawn, none, got 'box'"),
        ({"arrays": "julia"}, "arrays: need one of numpy,"),
        ({"takes": ["temperature"]}, "takes: need names among mask, theta, scale, causal, out, got 'temperature'"),
        ({"exempt": "kernel.nothing"}, "exempt: "),
        ({"replay": "nonsense"}, "replay: need 'PROPERTY CASE', got 'nonsense'"),
        ({"budget": -1.0}, "budget: need a number > 0"),
    ],
)
def test_a_wrong_argument_is_named(arguments, message):
    with pytest.raises(ValueError, match="^(softcheck: )?" + message.replace("(", r"\(")):
        softcheck.check(kernels.softmax, **arguments)


def test_a_function_that_cannot_be_sent_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)  # it would send it
    with pytest.raises(ValueError, match="isolation='spawn' needs a function that another process can import"):
        softcheck.check(lambda x: kernels.softmax(x), isolation="spawn")


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"dtype": ["float32"]}, r"dtype: need float64, .*, got \['float32'\]"),
        ({"out_dtype": "int8"}, "out_dtype: need float64, .*, got 'int8'"),
        ({"domain": 5}, "domain: need words in one text, or one by one, got 5"),
        ({"time_limit": "x"}, "time_limit: need a number, got 'x'"),
        ({"time_limit": None}, "time_limit: need a number, got None"),
        ({"load_limit": -3}, "load_limit: need a number > 0, got -3"),
        ({"load_limit": float("nan")}, "load_limit: need a number > 0, got nan"),
        ({"takes": "theta"}, "takes: need a list of names, or a dictionary to the function's own, got 'theta'"),
        ({"takes": 5}, "takes: need a list of names, .*, got 5"),
        ({"takes": {"theta": 3}}, r"takes: need names of the function's parameters, got \{'theta': 3\}"),
        ({"outputs": 2}, "outputs: need a whole number from 1 to 1, got 2"),
        ({"outputs": "two", "op": "attention"}, "outputs: need a whole number from 1 to 3, got 'two'"),
        ({"refuses": ValueError}, "refuses: need a list of exceptions' classes, got <class 'ValueError'>"),
        ({"refuses": ["ValueError"]}, r"refuses: need a list of exceptions' classes, got \['ValueError'\]"),
        ({"device": 0}, "device: need a text such as 'cuda:0', got 0"),
        ({"op": np.zeros((3, 3))}, "op: need one of softmax,.*, got an object of ndarray"),
    ],
)
def test_what_python_would_say_of_an_argument_is_said_of_it_by_name(wrong, message):
    with pytest.raises(softcheck.UsageError, match=f"^{message}$"):
        softcheck.check(kernels.softmax, **wrong)


def test_an_array_in_a_function_s_place_is_told_in_one_line():
    with pytest.raises(softcheck.UsageError, match="^function: need a function or 'LIB:SYMBOL', got an object of ndarray$"):
        softcheck.check(np.zeros((3, 3)))


def test_a_library_of_arrays_that_is_not_installed_is_told_before_a_call(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mlx" else find(name))
    monkeypatch.delitem(sys.modules, "mlx", raising=False)
    for isolation in ("auto", "none"):
        with pytest.raises(softcheck.UsageError, match="^arrays: need mlx to be installed, got an environment without it$"):
            softcheck.check(kernels.softmax, arrays="mlx", isolation=isolation)


def test_a_decorator_without_parentheses_is_no_test_that_is_never_run():
    with pytest.raises(softcheck.UsageError, match=r"^op: need @softcheck.kernel\(...\) with parentheses, got <function softmax"):
        softcheck.kernel(kernels.softmax)
    with pytest.raises(softcheck.UsageError, match="^function: need a function, got 5$"):
        softcheck.kernel(op="softmax")(5)


@pytest.mark.parametrize("own", [False, True])
def test_a_script_needs_no_guard_of_its_main_part(own, tmp_path):
    script = tmp_path / "script.py"
    function = "def softmax(x):\n    return kernels.softmax(x)\n" if own else "from kernels import softmax\n"
    call = "softcheck.check(softmax, isolation='spawn', domain='n<=9 rows<=3', cases=3)"
    script.write_text(f"import kernels, softcheck\n{function}print({call}.verdict)\n")
    path = os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path])
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.stdout == "pass\n", done.stdout + done.stderr

"""softcheck.h names each member that a report of the library has: reports of every op, of every function that makes one."""

import ctypes
import json
import pathlib
import re

import kernels
import numpy as np
import pytest
import softcheck
from softcheck import _abi, _dtypes, _library
from softcheck._ops import OPS

ROOT = pathlib.Path(__file__).parents[2]
NAMED = set(re.findall(r'"(\w+)"', (ROOT / "library/include/softcheck/softcheck.h").read_text()))
# The header points to the command's JSON for what is inside these.
ELSEWHERE = ("claims", "model", "heads")


def members(value):
    """All names of members, of members' members, and of those of lists."""
    if isinstance(value, list):
        return set().union(*map(members, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(members(inner) for name, inner in value.items() if name not in ELSEWHERE))


def unnamed(report):
    return sorted(members(report) - NAMED)


def wrong(_call, _context):
    """A kernel that writes nothing."""
    return 0


@pytest.mark.parametrize("op", OPS)
def test_of_a_judgement(op):
    report = _library.judge(wrong, {"op": op, "isolation": "none", "cases": 1, "max_length": 100}, False, None)
    assert {"counterexample", "ended_early", "junit"} <= set(report) and report["counterexample"], report["text"]
    assert unnamed(report) == []


@pytest.mark.parametrize("op", ["softmax", "attention"])
def test_of_an_inference(op):
    report = _library.judge(wrong, {"op": op, "isolation": "none", "cases": 1, "max_length": 100}, True, None)
    assert "contract_words" in report and unnamed(report) == []


def test_of_a_contract_that_is_found():
    report = softcheck.infer(kernels.softmax, domain="n>=1 n<=33 rows<=3 nomask theta=1", cases=1)
    assert report.data["contract_words"] and unnamed({**report.data, "interrupted": None}) == ["interrupted"]


def test_of_all_arguments():
    for budget in (1, 4, 16, 64, 256):  # seconds of a loaded machine are short
        report = softcheck.check(kernels.softmax, effort="exhaustive", budget=budget, domain="theta=1 n=2", progress=False).data
        if report["arguments"]:
            break
    assert report["statements"] and report["arguments"] and "picture" in report and unnamed(report) == []


def arrays_of(op):
    """Inputs of two rows of three, and results that are wrong: NaN, and one that is finite."""
    rows, row = np.ones((2, 3), np.float32), np.ones(2, np.float32)
    by_name = {name: rows for name in ("logits", "targets", "teacher", "saved", "out_gradient", "q", "k", "v", "out", "hidden", "weight")}
    by_name |= {"labels": np.zeros(2, np.int64), "upstream": row, "lse": row, "q2": rows, "k2": rows, "lambdas": row[:1]}
    if op == "cross_entropy_mean_backward":
        by_name["upstream"] = np.ones((), np.float32)
    if op == "merge_states":
        by_name |= {"out": np.ones((2, 2, 3), np.float32), "lse": np.zeros((2, 2), np.float32)}
    bad = np.full((2, 3), 7, np.float32)
    bad[0] = np.nan
    outputs = {"topk_softmax": (bad, np.zeros((2, 3), np.int32)), "merge_states": (bad, bad[:, 0].copy())}
    outputs |= {"attention_backward": (bad, bad.copy(), bad.copy()), "linear_cross_entropy_backward": (bad, bad.copy())}
    if op in ("logsumexp", "entropy", "cross_entropy", "soft_cross_entropy", "kl_divergence", "linear_cross_entropy"):
        outputs[op] = bad[:, 0].copy()
    if op == "cross_entropy_mean":
        outputs[op] = np.float32(7)
    inputs = tuple(by_name[name] for name in OPS[op].inputs)
    return inputs if len(inputs) > 1 else inputs[0], outputs.get(op, bad)


@pytest.mark.parametrize("op", OPS)
def test_of_results(op):
    inputs, outputs = arrays_of(op)
    with pytest.raises(softcheck.Violation) as violation:
        softcheck.assert_output(op, inputs, outputs)
    report = violation.value.report.data
    assert report["worst"] and {"by_identity", "verdict"} <= set(report["worst"][0]) and unnamed(report) == []


def test_of_certificates():
    report = _library.certify(str(ROOT / "proptests/tests/models/checkpoints/gpt2"), {})
    assert "whole" in report and unnamed(report) == []


# Without the package: as any program's foreign function interface meets the library.


LIBRARY = _library._library
X = np.array([[0, 1, 2]], np.float32)


def filled(function, which=0, count=0, code=None):
    """The status and the report of softcheck_reference or _threshold; count None: NULL arrays for the right count."""
    tensor = _dtypes.Tensor(X, "f32")
    call = _abi.TensorCall([tensor], [], 1.0, 1.0, False)
    if code is not None:
        call.call.inputs[0].contents.dtype.code = code
    options = _library._options({"op": "softmax"}, None, None)
    arrays = [None if count is None else (ctypes.c_double * 3)()] * (2 if function == "softcheck_reference" else 1)
    report = ctypes.c_char_p()
    status = getattr(LIBRARY, function)(
        ctypes.byref(call.call), which, ctypes.byref(options), *arrays, 3 if count is None else count, ctypes.byref(report)
    )
    result = json.loads(report.value)
    LIBRARY.softcheck_free(report)
    return status, result


@pytest.mark.parametrize("function", ["softcheck_reference", "softcheck_threshold"])
@pytest.mark.parametrize(
    "arguments, status, summary",
    [
        ({"count": 3}, 0, "3 values"),
        ({"count": 0}, 2, "count: need room for 3 values, got 0"),
        ({"count": 4}, 2, "count: need room for 3 values, got 4"),
        ({"count": None}, 2, "count: need room for 3 values, got NULL"),
        ({"which": 1}, 3, "which: need an output from 0 to 0, got 1"),
        ({"code": 77}, 3, "logits: need dtype .*, got code 77 of bits 32"),
    ],
)
def test_every_status_has_a_report(function, arguments, status, summary):
    got, report = filled(function, **arguments)
    assert got == status == report["status"]
    assert re.fullmatch(summary, report["summary"]) and report["text"] == report["summary"]
    assert report["error"] == (None if status == 0 else report["summary"])


@pytest.mark.parametrize("isolation", ["full", "none"])
def test_a_replay_line_without_again_is_the_library_s_own_call(isolation):
    words = {"op": "softmax", "name": "mine", "isolation": isolation, "cases": 1}
    report = _library.judge(lambda _call, _context: 0, words, False, None)
    line = re.search(r"replay: (.*)", report["text"])[1]
    found = re.fullmatch(r"softcheck_judge_function\(mine, context, options\) with the same options, replay='(.*)'", line)
    again = _library.judge(lambda _call, _context: 0, {**words, "replay": found[1]}, False, None)
    assert report["verdict"] == again["verdict"] == "fail"

"""Gradients of rows: functions of the saved output and its upstream gradient."""

import numpy as np
import pytest
import softcheck
from softcheck import _abi, _library
from softcheck._ops import OPS

QUICK = {"domain": "n<=129 rows<=17", "effort": "quick", "progress": False}


def softmax_backward(y, g):
    return y * (g - (y * g).sum(axis=-1, keepdims=True, dtype=y.dtype))


def log_softmax_backward(y, g):
    return g - np.exp(y) * g.sum(axis=-1, keepdims=True, dtype=y.dtype)


@pytest.mark.parametrize(("op", "function"), [("softmax_backward", softmax_backward), ("log_softmax_backward", log_softmax_backward)])
def test_a_right_function_passes(op, function):
    report = softcheck.check(function, op=op, contract="exp=2ulp", **QUICK)
    assert report.verdict == "pass", report


@pytest.mark.parametrize(
    "wrong",
    [
        lambda y, g: np.zeros_like(y),
        lambda y, g: -softmax_backward(y, g),
        lambda y, g: log_softmax_backward(y, g),
        lambda y, g: y * (1 - y) * g,
    ],
)
def test_what_public_tests_accept_is_found(wrong):
    report = softcheck.check(wrong, op="softmax_backward", **QUICK)
    assert report.verdict == "fail"
    assert list(report.counterexample.inputs) == ["saved", "out_gradient"]


def test_results_at_hand_are_judged():
    rng = np.random.default_rng(7)
    y = np.exp(rng.normal(size=(4, 9))).astype(np.float32)
    y /= y.sum(axis=-1, keepdims=True)
    g = rng.normal(size=(4, 9)).astype(np.float32)
    right = softmax_backward(y, g)
    softcheck.assert_output("softmax_backward", (y, g), right)
    wrong = right.copy()
    wrong[2, 5] += 1e-5
    with pytest.raises(softcheck.Violation, match="softmax_backward"):
        softcheck.assert_output("softmax_backward", (y, g), wrong)
    lower, upper = softcheck.reference("softmax_backward", y, g)
    exact = y.astype(float) * (g.astype(float) - (y.astype(float) * g.astype(float)).sum(axis=-1, keepdims=True))
    assert (lower <= upper).all()
    np.testing.assert_allclose(lower, exact, rtol=0, atol=1e-14)


def test_one_array_too_few_is_said():
    with pytest.raises(softcheck.UsageError, match="need saved, out_gradient, got 1 arrays"):
        softcheck.assert_output("softmax_backward", np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))


def test_the_library_has_the_same_ops():
    with pytest.raises(softcheck.UsageError) as error:
        _library.judge_tensors(_abi.TensorCall([], [], 1.0, 1.0, False), {"op": "none"})
    assert set(str(error.value).split("need one of ")[1].split(",")[0].split()) == set(OPS)

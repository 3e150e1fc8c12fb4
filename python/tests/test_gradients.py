"""Gradients of rows: functions of the saved output and its upstream gradient.
Merges of partial attention results: functions of the parts' outputs and log-sum-exps."""

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


def test_a_wrong_gradient_shows_its_inputs():
    report = softcheck.check(lambda y, g: y * (1 - y) * g, op="softmax_backward", **QUICK)
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


SMALL = "n<=17 rows<=17"
MERGES = {
    "effort": "quick",
    "cases": 20,
    "max_length": 64,
    "progress": False,
    "contract": "acc=f32 exp=2ulp sum=sequential masked=zero",
}


def merge(out, lse, base=np.e):
    wide = lse.dtype
    empty = np.isneginf(lse)
    if out.shape[0] == 0:
        return np.zeros(out.shape[1:], out.dtype), np.full(lse.shape[1:], -np.inf, wide)
    with np.errstate(all="ignore"):
        largest = lse.max(axis=0)
        none = np.isneginf(largest)
        distance = np.where(empty, 0, lse - np.where(none, 0, largest))
        weights = np.where(empty, 0, np.exp2(distance) if base == 2 else np.exp(distance)).astype(wide)
        total = weights.sum(axis=0, dtype=wide)
        products = weights[:, :, None] * np.where(empty[:, :, None], 0, out.astype(wide))
        merged = products.sum(axis=0, dtype=wide) / np.where(none, 1, total)[:, None]
        logarithm = np.log2(total) if base == 2 else np.log(total)
        return merged.astype(out.dtype), np.where(none, -np.inf, largest + logarithm).astype(wide)


def natural(out, lse):
    return merge(out, lse)


def binary(out, lse):
    return merge(out, lse, 2)


def either(out, lse, lse_base2):
    return merge(out, lse, 2 if lse_base2 else np.e)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_right_merge_passes_in_the_bases_that_it_takes(dtype):
    assert softcheck.check(natural, "merge_states", dtype, domain=SMALL, **MERGES).verdict == "pass"


def test_a_base_is_asked_for_where_the_function_takes_it():
    assert softcheck.check(either, "merge_states", domain=SMALL, **MERGES).verdict == "pass"
    assert softcheck.check(binary, "merge_states", domain=f"{SMALL} base=2", **MERGES).verdict == "pass"
    assert softcheck.check(binary, "merge_states", domain=SMALL, **MERGES).verdict == "fail"


OUTS = np.random.default_rng(2).normal(size=(3, 5, 4)).astype(np.float32)
LSES = np.random.default_rng(3).normal(size=(3, 5)).astype(np.float32)


@pytest.mark.parametrize("base", [np.e, 2])
def test_merges_at_hand_are_judged_in_their_base(base):
    results = merge(OUTS, LSES, base)
    words = {"contract": "exp=2ulp sum=sequential masked=zero"}
    report = softcheck.assert_output("merge_states", (OUTS, LSES), results, lse_base2=base == 2, **words)
    assert report.data["judged"] == 5
    with pytest.raises(softcheck.Violation) as violation:
        softcheck.assert_output("merge_states", (OUTS, LSES), results, lse_base2=base != 2, **words)
    assert violation.value.report.data["failed"] == 5


def test_rows_at_hand_may_have_any_leading_dimensions():
    outs, lses = OUTS.reshape(3, 5, 1, 4), LSES.reshape(3, 5, 1)
    for which, result in enumerate(merge(OUTS, LSES)):
        lower, upper = softcheck.reference("merge_states", outs, lses, which=which)
        allowed = softcheck.threshold("merge_states", outs, lses, which=which, contract="exp=2ulp")
        assert lower.shape == ((5, 1, 4), (5, 1))[which]
        assert (np.abs(result.reshape(lower.shape) - lower) <= allowed).all() and (allowed < 1e-4).all()


def test_what_does_not_fit_is_refused_in_one_line():
    out, lse = merge(OUTS, LSES)
    with pytest.raises(softcheck.UsageError, match=r"out: need shape \(3, 5, 4\), got \(2, 5, 4\)"):
        softcheck.assert_output("merge_states", (OUTS[:2], LSES), (out, lse))
    with pytest.raises(softcheck.UsageError, match="outputs: need out, lse, got 1 tensors"):
        softcheck.assert_output("merge_states", (OUTS, LSES), out)
    with pytest.raises(softcheck.UsageError, match="lse_base2: softmax has none"):
        softcheck.assert_output("softmax", OUTS, OUTS, lse_base2=True)

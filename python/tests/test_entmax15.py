"""Entmax of alpha = 1.5: functions to a row's projection, and results at hand."""

import numpy as np
import pytest
import softcheck

QUICK = {
    "effort": "quick",
    "cases": 20,
    "max_length": 600,
    "progress": False,
    "contract": "acc=f32 sum=sequential masked=nan",
}


def entmax(logits, alpha_half=2):
    x = logits.astype(np.float64 if logits.dtype == np.float64 else np.float32)
    if x.shape[-1] == 0:
        return logits
    with np.errstate(all="ignore"):
        d = (x.max(axis=-1, keepdims=True) - x) / x.dtype.type(alpha_half)
        ordered = np.sort(d, axis=-1)
        k = np.arange(1, x.shape[-1] + 1, dtype=x.dtype)
        mean = np.cumsum(ordered, axis=-1, dtype=x.dtype) / k
        variance = np.cumsum(ordered * ordered, axis=-1, dtype=x.dtype) / k - mean * mean
        root = mean + np.sqrt(np.maximum((1 - k * variance) / k, x.dtype.type(0)))
        inside = np.logical_and.accumulate(ordered <= root, axis=-1)
        last = np.maximum(inside.sum(axis=-1, keepdims=True) - 1, 0)
        rest = np.maximum(np.take_along_axis(root, last, axis=-1) - d, x.dtype.type(0))
        return (rest * rest).astype(logits.dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_right_entmax_passes(dtype):
    contract = QUICK["contract"].replace("f32", "f64") if dtype == "float64" else QUICK["contract"]
    report = softcheck.check(entmax, "entmax15", dtype, **{**QUICK, "contract": contract})
    assert report.verdict == "pass", report


def test_logits_that_are_not_halved_are_found():
    report = softcheck.check(lambda logits: entmax(logits, 1), "entmax15", **QUICK)
    assert report.verdict == "fail"
    assert "kernel.entmax15.element" in str(report)


def test_results_at_hand_are_judged():
    logits = np.array([[0, 0, 0, 0, -8], [0.25, 0, -1, -3, -9]], np.float32)
    softcheck.assert_output("entmax15", logits, entmax(logits))
    lower, upper = softcheck.reference("entmax15", logits)
    assert (lower[0] == [0.25, 0.25, 0.25, 0.25, 0]).all()
    assert abs(upper[1].sum() - 1) < 1e-12
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("entmax15", logits, entmax(logits) + np.float32(1e-3))

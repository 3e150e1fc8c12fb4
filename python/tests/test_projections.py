"""Sparsemax: functions to the projection of a row on the simplex."""

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


def projected(logits, total=np.cumsum):
    x = logits.astype(np.float64 if logits.dtype == np.float64 else np.float32)
    if x.shape[-1] == 0:
        return logits
    with np.errstate(all="ignore"):
        z = x - x.max(axis=-1, keepdims=True)
        ordered = -np.sort(-z, axis=-1)
        sums = total(ordered, axis=-1, dtype=z.dtype)
        k = np.arange(1, z.shape[-1] + 1, dtype=z.dtype)
        inside = np.logical_and.accumulate(1 + k * ordered > sums, axis=-1)
        count = inside.sum(axis=-1, keepdims=True)
        last = np.maximum(count - 1, 0)
        tau = (np.take_along_axis(sums, last, axis=-1) - 1) / (last + 1).astype(z.dtype)
        return np.maximum(z - tau, z.dtype.type(0)).astype(logits.dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_right_projection_passes(dtype):
    contract = QUICK["contract"].replace("f32", "f64") if dtype == "float64" else QUICK["contract"]
    report = softcheck.check(projected, "sparsemax", dtype, **{**QUICK, "contract": contract})
    assert report.verdict == "pass", report


def test_the_sum_of_sums_is_found():
    def twice(ordered, axis, dtype):
        return np.cumsum(np.cumsum(ordered, axis=axis, dtype=dtype), axis=axis, dtype=dtype)

    report = softcheck.check(lambda logits: projected(logits, twice), "sparsemax", **QUICK)
    assert report.verdict == "fail"
    assert "kernel.sparsemax.element" in str(report)


def test_a_softmax_is_none():
    def softmax(logits):
        if logits.shape[-1] == 0:
            return logits
        with np.errstate(all="ignore"):
            weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
            return weights / weights.sum(axis=-1, keepdims=True, dtype=logits.dtype)

    assert softcheck.check(softmax, "sparsemax", **QUICK).verdict == "fail"


def test_results_at_hand_are_judged():
    logits = np.array([[0.5, 0, -0.25, -4], [1, 1, -3, -3]], np.float32)
    softcheck.assert_output("sparsemax", logits, projected(logits))
    lower, upper = softcheck.reference("sparsemax", logits)
    assert (lower[0] == [0.75, 0.25, 0, 0]).all() and (upper[1] == [0.5, 0.5, 0, 0]).all()
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("sparsemax", logits, projected(logits) + np.float32(1e-3))

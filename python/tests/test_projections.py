"""Sparsemax and entmax of alpha = 1.5: functions to the projection of a row on the simplex, and results at hand."""

import kernels
import numpy as np
import pytest
import softcheck

QUICK = {"effort": "quick", "cases": 20, "max_length": 600, "progress": False, "contract": "acc=f32 sum=sequential masked=nan"}


def sparsemax(logits, total=np.cumsum):
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


def sparsemax_of_sums_of_sums(logits):
    def twice(ordered, axis, dtype):
        return np.cumsum(np.cumsum(ordered, axis=axis, dtype=dtype), axis=axis, dtype=dtype)

    return sparsemax(logits, twice)


def entmax_of_logits_that_are_not_halved(logits):
    return entmax(logits, 1)


RIGHT = {"sparsemax": sparsemax, "entmax15": entmax}


@pytest.mark.parametrize("op", RIGHT)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_right_projection_passes(op, dtype):
    contract = QUICK["contract"].replace("f32", "f64") if dtype == "float64" else QUICK["contract"]
    report = softcheck.check(RIGHT[op], op, dtype, **{**QUICK, "contract": contract})
    assert report.verdict == "pass", report


@pytest.mark.parametrize(
    "op, wrong", [("sparsemax", sparsemax_of_sums_of_sums), ("entmax15", entmax_of_logits_that_are_not_halved)]
)
def test_a_wrong_projection_is_found(op, wrong):
    report = softcheck.check(wrong, op, **QUICK)
    assert report.verdict == "fail"
    assert f"kernel.{op}.element" in str(report)


def test_a_softmax_is_none():
    assert softcheck.check(kernels.softmax, "sparsemax", **QUICK).verdict == "fail"


def at_hand(op, logits):
    """The enclosure of a result that is right."""
    logits = np.array(logits, np.float32)
    softcheck.assert_output(op, logits, RIGHT[op](logits))
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output(op, logits, RIGHT[op](logits) + np.float32(1e-3))
    return softcheck.reference(op, logits)


def test_results_at_hand_are_judged():
    lower, upper = at_hand("sparsemax", [[0.5, 0, -0.25, -4], [1, 1, -3, -3]])
    assert (lower[0] == [0.75, 0.25, 0, 0]).all() and (upper[1] == [0.5, 0.5, 0, 0]).all()
    lower, upper = at_hand("entmax15", [[0, 0, 0, 0, -8], [0.25, 0, -1, -3, -9]])
    assert (lower[0] == [0.25, 0.25, 0.25, 0.25, 0]).all()
    assert abs(upper[1].sum() - 1) < 1e-12

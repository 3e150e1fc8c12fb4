"""Samplers of tokens: functions to the softmax of the items that top-p and min-p keep."""

import numpy as np
import pytest
import softcheck
from kernels import softmax

QUICK = {"effort": "quick", "cases": 20, "max_length": 600, "progress": False,
         "contract": "acc=f32 exp=2ulp sum=sequential masked=nan"}  # fmt: skip


def kept_of(p, top_p, min_p):
    order = np.argsort(-p, axis=-1, kind="stable")
    ordered = np.take_along_axis(p, order, axis=-1)
    kept = np.ones(p.shape, bool)
    if top_p != 0:
        before = np.cumsum(ordered, axis=-1, dtype=p.dtype) - ordered
        inside = before < top_p
        inside[:, :1] = True
        np.put_along_axis(kept, order, inside, axis=-1)
    if min_p != 0 and p.shape[-1] > 0:
        kept &= p >= p.dtype.type(min_p) * p.max(axis=-1, keepdims=True)
    return kept


def sampled(logits, top_p=0.0, min_p=0.0):
    x = logits.astype(np.float32)
    p = softmax(x)
    with np.errstate(all="ignore"):
        kept = np.where(kept_of(p, top_p, min_p) | np.isnan(p), p, np.float32(0))
        return (kept / kept.sum(axis=-1, keepdims=True, dtype=p.dtype)).astype(logits.dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_right_sampler_passes(dtype):
    report = softcheck.check(sampled, "top_p_softmax", dtype, **QUICK)
    assert report.verdict == "pass", report


def test_a_function_has_the_filters_that_it_takes():
    def nucleus(logits, top_p):
        return sampled(logits, top_p)

    def at_temperature(logits, theta, min_p):
        with np.errstate(over="ignore"):
            return sampled(logits / logits.dtype.type(theta), min_p=min_p)

    assert softcheck.check(nucleus, "top_p_softmax", **QUICK).verdict == "pass"
    words = {**QUICK, "contract": QUICK["contract"] + " theta=before"}
    assert softcheck.check(at_temperature, "top_p_softmax", **words).verdict == "pass"
    assert softcheck.check(lambda logits: softmax(logits), "top_p_softmax", **QUICK).verdict == "pass"
    with pytest.raises(softcheck.UsageError, match="top_p"):
        softcheck.check(lambda logits: softmax(logits), "top_p_softmax", takes=["k"], **QUICK)


def test_a_boundary_item_that_is_missing_is_found():
    def without_the_last(logits, top_p=0.0):
        p = softmax(logits)
        order = np.argsort(-p, axis=-1, kind="stable")
        inside = np.cumsum(np.take_along_axis(p, order, axis=-1), axis=-1, dtype=p.dtype) <= top_p
        inside[:, :1] = True
        kept = np.ones(p.shape, bool)
        if top_p != 0:
            np.put_along_axis(kept, order, inside, axis=-1)
        with np.errstate(all="ignore"):
            weights = np.where(kept | np.isnan(p), p, np.float32(0))
            return weights / weights.sum(axis=-1, keepdims=True, dtype=p.dtype)

    report = softcheck.check(without_the_last, "top_p_softmax", **QUICK)
    assert report.verdict == "fail"
    assert "kernel.top_p_softmax.kept" in str(report)


def test_min_p_of_one_is_not_min_p_of_the_largest():
    def of_one(logits, min_p=0.0):
        p = softmax(logits)
        kept = p >= min(min_p, float(p.max(initial=0)) if p.size else 0)
        with np.errstate(all="ignore"):
            weights = np.where(kept | np.isnan(p), p, np.float32(0))
            return weights / weights.sum(axis=-1, keepdims=True, dtype=p.dtype)

    report = softcheck.check(of_one, "top_p_softmax", domain="rows=1", **QUICK)
    assert report.verdict == "fail"
    assert "kernel.top_p_softmax.kept" in str(report)


def test_results_at_hand_are_judged():
    logits = np.log(np.array([[8, 4, 2, 2], [1, 8, 4, 3]], np.float32))
    got = sampled(logits, top_p=0.6)
    softcheck.assert_output("top_p_softmax", logits, got, top_p=0.6)
    lower, upper = softcheck.reference("top_p_softmax", logits, top_p=0.6)
    assert ((lower > 0) == [[True, True, False, False], [False, True, True, False]]).all()
    assert np.allclose(upper[0, 0], 2 / 3)
    with pytest.raises(softcheck.Violation, match="kernel.top_p_softmax.kept"):
        softcheck.assert_output("top_p_softmax", logits, softmax(logits), top_p=0.6)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("top_p_softmax", logits, got, min_p=0.3)
    with pytest.raises(softcheck.UsageError, match=r"top_p: need a number in \(0, 1\]"):
        softcheck.assert_output("top_p_softmax", logits, got, top_p=1.5)
    with pytest.raises(softcheck.UsageError, match="top_p: softmax has none"):
        softcheck.assert_output("softmax", logits, got, top_p=0.5)

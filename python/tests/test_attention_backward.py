"""Gradients of attention: functions of q, k, v, what the forward pass returned, and the loss's gradient by its output."""

import numpy as np
import pytest
import softcheck

QUICK = {
    "effort": "quick",
    "cases": 20,
    "progress": False,
    "contract": "exp=2ulp sum=sequential masked=zero",
}


def visible_of(q, k, mask, causal, window=(-1, -1)):
    queries, keys = q.shape[2], k.shape[2]
    place = np.arange(queries)[:, None] + keys - queries
    key = np.arange(keys)[None, :]
    seen = np.ones((queries, keys), bool)
    if causal:
        seen &= key <= place
    if window[0] >= 0:
        seen &= place - key <= window[0]
    if window[1] >= 0:
        seen &= key - place <= window[1]
    seen = np.broadcast_to(seen, (q.shape[0], q.shape[1], queries, keys))
    return seen if mask is None else seen & mask


def gradients(q, k, v, lse, out, dout, scale, seen, delta=None):
    """In float32 (float64 for float64), rounded to q's dtype at the end."""
    wide = np.float64 if q.dtype == np.float64 else np.float32
    group = q.shape[1] // max(1, k.shape[1])
    q_, k_, v_, dout_ = (x.astype(wide) for x in (q, k, v, dout))
    k_, v_ = (np.repeat(x, group, axis=1) for x in (k_, v_))
    # What a query does not see may hold anything.
    k_ = np.where(seen.any(axis=2)[..., None], k_, 0)
    v_ = np.where(seen.any(axis=2)[..., None], v_, 0)
    with np.errstate(all="ignore"):
        scores = np.einsum("bhid,bhjd->bhij", q_, k_) * wide(scale)
        p = np.where(seen, np.exp(scores - lse[..., None]), 0).astype(wide)
        if delta is None:
            delta = np.sum(dout_ * out.astype(wide), axis=-1)
        ds = np.where(seen, p * (np.einsum("bhic,bhjc->bhij", dout_, v_) - delta[..., None]), 0)
        dq = np.einsum("bhij,bhjd->bhid", ds, k_) * wide(scale)
        dk = np.einsum("bhij,bhid->bhjd", ds, q_) * wide(scale)
        dv = np.einsum("bhij,bhic->bhjc", p, dout_)
        batch, heads = k.shape[:2]
        dk, dv = (x.reshape(batch, heads, group, *x.shape[2:]).sum(axis=2) for x in (dk, dv))
    return dq.astype(q.dtype), dk.astype(q.dtype), dv.astype(q.dtype)


def right(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False):
    return gradients(q, k, v, lse, out, out_gradient, scale, visible_of(q, k, mask, causal))


def with_windows(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False, window=(-1, -1)):
    return gradients(q, k, v, lse, out, out_gradient, scale, visible_of(q, k, mask, causal, window))


def without_window(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False, window=(-1, -1)):
    return right(q, k, v, out, lse, out_gradient, mask, scale, causal)


def with_bias(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False, bias=None):
    """A bias that is handed over and forgotten."""
    return right(q, k, v, out, lse, out_gradient, mask, scale, causal)


def without_delta(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False):
    nothing = np.zeros(q.shape[:3], lse.dtype)
    return gradients(q, k, v, lse, out, out_gradient, scale, visible_of(q, k, mask, causal), nothing)


def two_arrays(q, k, v, out, lse, out_gradient):
    return q, k


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_right_gradient_passes(dtype):
    report = softcheck.check(right, "attention_backward", dtype, domain="finite", **QUICK)
    assert report.verdict == "pass", report


def test_windows_are_passed_to_a_function_that_has_them():
    words = {"domain": "finite", **QUICK}
    assert softcheck.check(with_windows, "attention_backward", **words).verdict == "pass"
    assert softcheck.check(without_window, "attention_backward", **words).verdict == "fail"


def test_a_bias_is_passed_to_a_function_that_has_it():
    assert softcheck.check(with_bias, "attention_backward", domain="finite", **QUICK).verdict == "fail"


def test_a_gradient_without_its_mean_fails_and_shows_its_inputs():
    report = softcheck.check(without_delta, "attention_backward", domain="finite", **QUICK)
    assert report.verdict == "fail"
    assert {"q", "k", "v", "out", "lse", "out_gradient"} <= set(report.counterexample.inputs)


def test_all_three_arrays_are_needed():
    report = softcheck.check(two_arrays, "attention_backward", **QUICK)
    assert report.verdict != "pass"
    assert "need 3 arrays, got 2" in str(report)


def test_results_at_hand_are_refused_in_one_line():
    array = np.zeros((1, 1, 1, 1), np.float32)
    with pytest.raises(softcheck.UsageError, match="attention_backward"):
        softcheck.assert_output("attention_backward", (array,) * 6, array)

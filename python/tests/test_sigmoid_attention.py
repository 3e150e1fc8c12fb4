"""Sigmoid attention: functions with and without a bias, and results at hand."""

import numpy as np
import pytest
import softcheck

QUICK = {"effort": "quick", "progress": False, "domain": "batch<=2 heads<=4 queries<=9 keys<=33 dim<=9 values<=9"}
CONTRACT = "exp=4ulp sum=sequential"


def attention(q, k, v, mask=None, scale=1.0, causal=False, sigmoid_bias=None, forgets=False):
    if sigmoid_bias is None:
        sigmoid_bias = -np.log(max(1, k.shape[2]))
    group = q.shape[1] // max(1, k.shape[1])
    k, v = k.repeat(group, 1), v.repeat(group, 1)
    with np.errstate(all="ignore"):
        x = np.einsum("bhid,bhjd->bhij", q, k) * q.dtype.type(scale)
        x = x if forgets else x + q.dtype.type(sigmoid_bias)
        t = np.exp(-np.abs(x))
        p = np.where(x < 0, t, 1) / (1 + t)
        seen = np.ones(x.shape[2:], bool) if not causal else np.tri(*x.shape[2:], x.shape[3] - x.shape[2], bool)
        seen = seen & (mask if mask is not None else True)
        # A masked NaN is not there.
        terms = np.where(seen[..., None], p[..., None] * v[:, :, None], q.dtype.type(0))
        return terms.sum(3, dtype=q.dtype)


def test_a_right_function_passes():
    report = softcheck.check(attention, "sigmoid_attention", contract=CONTRACT, **QUICK)
    assert report, report


def test_a_function_with_a_bias_of_its_own_gets_no_other():
    def own(q, k, v, mask=None, scale=1.0, causal=False):
        return attention(q, k, v, mask, scale, causal)

    assert softcheck.check(own, "sigmoid_attention", contract=CONTRACT, **QUICK)


def test_a_function_that_forgets_the_bias_fails():
    def wrong(q, k, v, mask=None, scale=1.0, causal=False, sigmoid_bias=0.0):
        return attention(q, k, v, mask, scale, causal, forgets=True)

    report = softcheck.check(wrong, "sigmoid_attention", contract=CONTRACT, **QUICK)
    assert report.verdict == "fail" and "kernel.sigmoid_attention.output" in str(report)


def test_results_at_hand_are_judged_by_their_bias():
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal((1, 2, n, 4)).astype(np.float32) for n in (3, 5, 5))
    usual = attention(q, k, v, scale=0.5)
    softcheck.assert_output("sigmoid_attention", (q, k, v), usual)
    softcheck.assert_output("sigmoid_attention", (q, k, v), attention(q, k, v, scale=0.5, sigmoid_bias=-3), sigmoid_bias=-3.0)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("sigmoid_attention", (q, k, v), usual, sigmoid_bias=-3.0)
    lower, upper = softcheck.reference("sigmoid_attention", q, k, v)
    allowed = softcheck.threshold("sigmoid_attention", q, k, v)
    assert lower.shape == upper.shape == allowed.shape == usual.shape
    assert (np.abs(usual - lower) <= allowed).all() and (upper - lower < allowed).all() and (allowed < 1e-5).all()


def test_a_bias_is_a_finite_number_of_sigmoid_attention():
    q = np.ones((1, 2, 4), np.float32)
    with pytest.raises(softcheck.UsageError, match="sigmoid_bias: need a finite number, got inf"):
        softcheck.assert_output("sigmoid_attention", (q, q, q), q, sigmoid_bias=np.inf)
    with pytest.raises(softcheck.UsageError, match="sigmoid_bias: attention has none"):
        softcheck.assert_output("attention", (q, q, q), q, sigmoid_bias=1.0)

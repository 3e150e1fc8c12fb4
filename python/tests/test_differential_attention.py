"""Differential attention: functions with a lambda of each head or of the call, and results at hand."""

import numpy as np
import pytest
import softcheck

QUICK = {"effort": "quick", "progress": False, "domain": "batch<=2 heads<=4 queries<=9 keys<=33 dim<=9 values<=9"}
CONTRACT = "exp=4ulp sum=sequential"


def weights(q, k, seen, scale):
    x = np.einsum("bhid,bhjd->bhij", q, k) * q.dtype.type(scale)
    x = np.where(seen, x, -np.inf)
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True, dtype=q.dtype)


def attention(q, k, v, q2, k2, lam, mask=None, scale=1.0, causal=False, one=False):
    group = q.shape[1] // max(1, k.shape[1])
    k, v, k2 = k.repeat(group, 1), v.repeat(group, 1), k2.repeat(group, 1)
    shape = (q.shape[2], k.shape[2])
    seen = np.ones(shape, bool) if not causal else np.tri(*shape, shape[1] - shape[0], bool)
    seen = np.broadcast_to(seen & (mask if mask is not None else True), (*q.shape[:2], *shape))
    factor = lam[:1] if one else lam
    with np.errstate(all="ignore"):
        p = weights(q, k, seen, scale) - factor[:, None, None].astype(q.dtype) * weights(q2, k2, seen, scale)
        # A masked NaN is not there.
        terms = np.where(seen[..., None], p[..., None] * v[:, :, None], q.dtype.type(0))
        out = terms.sum(3, dtype=q.dtype)
    return np.where(seen.any(-1, keepdims=True), out, q.dtype.type(np.nan))


def test_a_right_function_passes():
    report = softcheck.check(attention, "differential_attention", contract=CONTRACT, **QUICK)
    assert report, report


def test_a_lambda_of_the_call_needs_its_word():
    def one(q, k, v, q2, k2, lam, mask=None, scale=1.0, causal=False):
        return attention(q, k, v, q2, k2, lam, mask, scale, causal, one=True)

    report = softcheck.check(one, "differential_attention", contract=CONTRACT, **QUICK)
    assert report.verdict == "fail" and "kernel.differential_attention.output" in str(report)
    shared = {**QUICK, "domain": QUICK["domain"] + " lambda=shared"}
    assert softcheck.check(one, "differential_attention", contract=CONTRACT, **shared)


def test_results_at_hand_are_judged():
    random = np.random.default_rng(1)
    q, k, v, q2, k2 = (random.standard_normal((2, heads, n, 4)).astype(np.float32) for heads, n in ((4, 3), (2, 5), (2, 5), (4, 3), (2, 5)))
    lam = np.array([0.8, 0.2, -0.1, 1.0], np.float32)
    inputs = (q, k, v, q2, k2, lam)
    mask = random.random((2, 4, 3, 5)) < 0.7
    mask[..., 0] = True
    for words in ({"scale": 0.5}, {"scale": 0.5, "causal": True}, {"scale": 1.0, "mask": mask}):
        right = attention(*inputs, **words)
        softcheck.assert_output("differential_attention", inputs, right, **words)
        for wrong in (attention(q, k, v, q, k, lam, **words), attention(*inputs[:5], lam[::-1], **words)):
            with pytest.raises(softcheck.Violation):
                softcheck.assert_output("differential_attention", inputs, wrong, **words)
    right = attention(*inputs, scale=0.5)
    lower, upper = softcheck.reference("differential_attention", *inputs)
    allowed = softcheck.threshold("differential_attention", *inputs)
    assert lower.shape == upper.shape == allowed.shape == right.shape
    assert (np.abs(right - lower) <= allowed).all() and (upper - lower < allowed).all() and (allowed < 1e-5).all()


def test_a_nan_of_the_second_map_is_due():
    q = np.ones((1, 1, 2, 4), np.float32)
    q2 = q.copy()
    q2[0, 0, 1, 2] = np.nan
    out = np.zeros_like(q)
    lam = np.ones(1, np.float32)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("differential_attention", (q, q, q, q2, q, lam), out)
    out[0, 0, 1] = np.nan
    softcheck.assert_output("differential_attention", (q, q, q, q2, q, lam), out)


def test_shapes_and_dtypes_are_those_of_the_first_map():
    q = np.ones((1, 2, 4), np.float32)
    lam = np.ones(1, np.float32)
    with pytest.raises(softcheck.UsageError, match="inputs: need q, k, v, q2, k2, lambdas, got 3 arrays"):
        softcheck.assert_output("differential_attention", (q, q, q), q)
    with pytest.raises(softcheck.UsageError, match="lambdas: need"):
        softcheck.assert_output("differential_attention", (q, q, q, q, q, np.ones(2, np.float32)), q)
    with pytest.raises(softcheck.UsageError, match="q2: need"):
        softcheck.assert_output("differential_attention", (q, q, q, q[:, :1], q, lam), q)
    with pytest.raises(softcheck.UsageError, match="k2: need dtype f32"):
        softcheck.assert_output("differential_attention", (q, q, q, q, q.astype(np.float16), lam), q)
    with pytest.raises(softcheck.UsageError, match="dropout_mask"):
        softcheck.assert_output("differential_attention", (q, q, q, q, q, lam), q, dropout_mask=np.ones((1, 2, 2), bool))

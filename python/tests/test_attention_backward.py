"""Gradients of attention: functions of q, k, v, what the forward pass returned, and the loss's gradient by its output."""

import numpy as np
import pytest
import softcheck

FINITE = "finite batch<=2 heads<=4 queries<=17 keys<=33 dim<=9 values<=9"
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


def gradients(q, k, v, lse, out, dout, scale, seen, delta=None, bias=None):
    """In float32 (float64 for float64), rounded to q's dtype at the end; that by a bias is the fourth."""
    wide = np.float64 if q.dtype == np.float64 else np.float32
    group = q.shape[1] // max(1, k.shape[1])
    q_, k_, v_, dout_ = (x.astype(wide) for x in (q, k, v, dout))
    k_, v_ = (np.repeat(x, group, axis=1) for x in (k_, v_))
    # What a query does not see may hold anything.
    k_ = np.where(seen.any(axis=2)[..., None], k_, 0)
    v_ = np.where(seen.any(axis=2)[..., None], v_, 0)
    with np.errstate(all="ignore"):
        scores = np.einsum("bhid,bhjd->bhij", q_, k_) * wide(scale)
        scores = scores if bias is None else scores + bias.astype(wide)
        p = np.where(seen, np.exp(scores - lse[..., None]), 0).astype(wide)
        if delta is None:
            delta = np.sum(dout_ * out.astype(wide), axis=-1)
        ds = np.where(seen, p * (np.einsum("bhic,bhjc->bhij", dout_, v_) - delta[..., None]), 0)
        dq = np.einsum("bhij,bhjd->bhid", ds, k_) * wide(scale)
        dk = np.einsum("bhij,bhid->bhjd", ds, q_) * wide(scale)
        dv = np.einsum("bhij,bhic->bhjc", p, dout_)
        batch, heads = k.shape[:2]
        dk, dv = (x.reshape(batch, heads, group, *x.shape[2:]).sum(axis=2) for x in (dk, dv))
    results = tuple(x.astype(q.dtype) for x in (dq, dk, dv))
    if bias is None:
        return results
    return *results, (ds.sum(axis=1, keepdims=True, dtype=wide) if bias.shape[1] == 1 else ds).astype(q.dtype)


def right(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False):
    return gradients(q, k, v, lse, out, out_gradient, scale, visible_of(q, k, mask, causal))


def with_windows(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False, window=(-1, -1)):
    return gradients(q, k, v, lse, out, out_gradient, scale, visible_of(q, k, mask, causal, window))


def with_lse_gradient(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False, lse_gradient=None):
    wide = lse.dtype
    delta = np.sum(out_gradient.astype(wide) * out.astype(wide), axis=-1)
    delta = delta if lse_gradient is None else delta - lse_gradient
    return gradients(q, k, v, lse, out, out_gradient, scale, visible_of(q, k, mask, causal), delta)


def without_delta(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False):
    nothing = np.zeros(q.shape[:3], lse.dtype)
    return gradients(q, k, v, lse, out, out_gradient, scale, visible_of(q, k, mask, causal), nothing)


def two_arrays(q, k, v, out, lse, out_gradient):
    return q, k


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_right_gradient_passes(dtype):
    report = softcheck.check(right, "attention_backward", dtype, domain=FINITE, **QUICK)
    assert report.verdict == "pass", report


def test_windows_are_passed_to_a_function_that_has_them():
    words = {"domain": FINITE, **QUICK}
    assert softcheck.check(with_windows, "attention_backward", **words).verdict == "pass"


def test_a_gradient_by_the_log_sum_exps_is_passed_to_a_function_that_takes_it():
    words = {"domain": FINITE, **QUICK}
    assert softcheck.check(with_lse_gradient, "attention_backward", **words).verdict == "pass"
    with pytest.raises(softcheck.UsageError, match="attention_backward"):
        softcheck.check(lambda q, k, v, lse_gradient=None: q, "attention", **QUICK)


def test_a_gradient_without_its_mean_fails_and_shows_its_inputs():
    report = softcheck.check(without_delta, "attention_backward", domain=FINITE, **QUICK)
    assert report.verdict == "fail"
    assert {"q", "k", "v", "out", "lse", "out_gradient"} <= set(report.counterexample.inputs)


def test_all_three_arrays_are_needed():
    report = softcheck.check(two_arrays, "attention_backward", **QUICK)
    assert report.verdict != "pass"
    assert "need 3 arrays, got 2" in str(report)


def with_sinks(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False, sinks=None):
    """dsinks = -sum p_sink delta, in float32: a function without sinks in the call has none."""
    dq, dk, dv = right(q, k, v, out, lse, out_gradient, mask, scale, causal)
    if sinks is None:
        return dq, dk, dv
    wide = lse.dtype
    delta = np.sum(out_gradient.astype(wide) * out.astype(wide), axis=-1, dtype=wide)
    with np.errstate(all="ignore"):
        p_sink = np.exp(sinks[None, :, None] - lse)
    return dq, dk, dv, -np.sum(p_sink * delta, axis=(0, 2), dtype=wide)


def by_bias(q, k, v, out, lse, out_gradient, mask=None, scale=1.0, causal=False, bias=None):
    return gradients(q, k, v, lse, out, out_gradient, scale, visible_of(q, k, mask, causal), bias=bias)


def packed(q, k, v, out, lse, out_gradient, cu_seqlens_q, cu_seqlens_k, scale=1.0, causal=False):
    """Each sequence as a batch of one."""
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for b in range(len(cu_seqlens_q) - 1):
        i, j = slice(*cu_seqlens_q[b : b + 2]), slice(*cu_seqlens_k[b : b + 2])
        dense = [x[None].swapaxes(1, 2) for x in (q[i], k[j], v[j], out[i])]
        gradient = out_gradient[i][None].swapaxes(1, 2)
        results = right(*dense, lse[None, :, i], gradient, None, scale, causal)
        dq[i], dk[j], dv[j] = (x[0].swapaxes(0, 1) for x in results)
    return dq, dk, dv


def test_the_gradient_by_the_sinks_is_a_fourth_array():
    words = {"domain": FINITE, "outputs": 4, **QUICK}
    report = softcheck.check(with_sinks, "attention_backward", **words)
    assert report.verdict == "pass", report
    assert "kernel.attention_backward.dsinks" in str(report)
    assert softcheck.check(with_sinks, "attention_backward", domain=FINITE, **QUICK).verdict == "pass"
    with pytest.raises(softcheck.UsageError, match="outputs: need a function that takes sinks"):
        softcheck.check(right, "attention_backward", **words)


def test_the_gradient_by_the_bias_is_asked_for_by_its_word():
    words = {"domain": f"{FINITE} dbias", **QUICK}
    report = softcheck.check(by_bias, "attention_backward", **words)
    assert report.verdict == "pass", report
    assert "kernel.attention_backward.dbias" in str(report)
    with pytest.raises(softcheck.UsageError, match="outputs: need a function that takes bias"):
        softcheck.check(right, "attention_backward", **words)


def test_packed_sequences_are_named_by_their_offsets():
    words = {"domain": FINITE, **QUICK}
    report = softcheck.check(packed, "attention_backward", **words)
    assert report.verdict == "pass", report


RNG = np.random.default_rng(5)
Q, DOUT = (RNG.normal(size=(2, 4, 5, 3)).astype(np.float32) for _ in range(2))
K, V = (RNG.normal(size=(2, 2, 6, 3)).astype(np.float32) for _ in range(2))
SCALE = 0.5


def forward(causal=False):
    """out and lse in float32."""
    seen = visible_of(Q, K, None, causal)
    k, v = (np.repeat(x, 2, axis=1) for x in (K, V))
    x = np.where(seen, np.einsum("bhid,bhjd->bhij", Q, k) * np.float32(SCALE), -np.inf)
    largest = x.max(axis=-1, keepdims=True)
    e = np.exp(x - largest)
    total = e.sum(axis=-1, keepdims=True, dtype=np.float32)
    return np.einsum("bhij,bhjc->bhic", e / total, v), (largest + np.log(total))[..., 0].astype(np.float32)


def at_hand(causal=False, window=(-1, -1)):
    out, lse = forward(causal) if window == (-1, -1) else (None, None)
    if lse is None:
        seen = visible_of(Q, K, None, causal, window)
        x = np.where(seen, np.einsum("bhid,bhjd->bhij", Q, np.repeat(K, 2, axis=1)) * np.float32(SCALE), -np.inf)
        lse = np.log(np.exp(x).sum(axis=-1, dtype=np.float32))
        out = np.einsum("bhij,bhjc->bhic", np.exp(x - lse[..., None]), np.repeat(V, 2, axis=1))
    return gradients(Q, K, V, lse, out, DOUT, SCALE, visible_of(Q, K, None, causal, window))


WORDS = {"scale": SCALE, "contract": "exp=2ulp sum=sequential"}


def test_gradients_at_hand_pass_with_and_without_what_was_saved():
    for causal in (False, True):
        results = at_hand(causal)
        report = softcheck.assert_output("attention_backward", (Q, K, V, DOUT), results, causal=causal, **WORDS)
        assert report.data["judged"] == 2 * 4 * 5 + 2 * 2 * 6
        saved = (Q, K, V, *forward(causal), DOUT)
        assert softcheck.assert_output("attention_backward", saved, results, causal=causal, **WORDS)


def test_attributes_at_hand_are_those_of_the_call():
    results = at_hand(window=(2, 1))
    assert softcheck.assert_output("attention_backward", (Q, K, V, DOUT), results, window=(2, 1), **WORDS)
    for wrong in ({}, {"window": (2, 0)}, {"window": (2, 1), "causal_top_left": True}, {"window": (2, 1), "softcap": 1.0}):
        with pytest.raises(softcheck.Violation):
            softcheck.assert_output("attention_backward", (Q, K, V, DOUT), results, **wrong, **WORDS)
    bias = RNG.normal(size=(5, 6)).astype(np.float32)
    sinks = np.array([0.5, 0, -1, 2], np.float32)
    terms = {"bias": bias, "sinks": sinks, "alibi_slopes": np.abs(sinks), "scale": SCALE}
    exact = [softcheck.reference("attention_backward", Q, K, V, DOUT, which=i, **terms) for i in range(3)]
    right = tuple(((lower + upper) / 2).astype(np.float32) for lower, upper in exact)
    assert softcheck.assert_output("attention_backward", (Q, K, V, DOUT), right, **terms)
    for name in ("bias", "sinks", "alibi_slopes"):
        with pytest.raises(softcheck.Violation):
            softcheck.assert_output("attention_backward", (Q, K, V, DOUT), right, **{**terms, name: None})


def test_a_gradient_by_the_log_sum_exps_at_hand():
    out, lse = forward(False)
    by_lse = np.linspace(-2, 3, lse.size, dtype=np.float32).reshape(lse.shape)
    delta = np.sum(DOUT * out, axis=-1) - by_lse
    results = gradients(Q, K, V, lse, out, DOUT, SCALE, visible_of(Q, K, None, False), delta)
    given = ("attention_backward", (Q, K, V, DOUT), results)
    assert softcheck.assert_output(*given, lse_gradient=by_lse, **WORDS)
    for wrong in (None, -by_lse, np.roll(by_lse, 1, axis=1)):
        with pytest.raises(softcheck.Violation):
            softcheck.assert_output(*given, lse_gradient=wrong, **WORDS)
    terms = {"sinks": np.zeros(4, np.float32), "lse_gradient": by_lse, "scale": SCALE}
    with pytest.raises(softcheck.UsageError, match="dsinks: need no lse_gradient"):
        softcheck.reference("attention_backward", Q, K, V, DOUT, which=3, **terms)
    with pytest.raises(softcheck.UsageError, match="lse_gradient"):
        softcheck.reference("attention", Q, K, V, lse_gradient=by_lse)


def test_gradients_by_sinks_and_bias_at_hand():
    sinks = np.array([0.5, 0, -1, 2], np.float32)
    given = ("attention_backward", Q, K, V, DOUT)
    for shape in ((2, 4, 5, 6), (4, 5, 6), (5, 6), (1, 4, 1, 6), (6,)):
        terms = {"bias": RNG.normal(size=shape).astype(np.float32), "sinks": sinks, "scale": SCALE}
        exact = [softcheck.reference(*given, which=i, **terms) for i in range(5)]
        right = [((lower + upper) / 2).astype(np.float32) for lower, upper in exact]
        assert right[3].shape == sinks.shape and right[4].shape == shape
        assert (softcheck.threshold(*given, which=3, **terms) > 0).all()
        report = softcheck.assert_output(given[0], given[1:], right, **terms)
        assert "kernel.attention_backward.dsinks" in str(report) and "kernel.attention_backward.dbias" in str(report)
        for which, name in ((3, "dsinks"), (4, "dbias")):
            if (which, shape) != (4, (6,)):  # one dimension beside sinks is taken for dsinks
                assert softcheck.assert_output(given[0], given[1:], [*right[:3], right[which]], **terms)
            with pytest.raises(softcheck.Violation) as violation:
                softcheck.assert_output(given[0], given[1:], [*right[:which], -right[which], *right[which + 1 :]], **terms)
            assert violation.value.report.data["worst"][0]["of"] == name
        del terms["sinks"]
        with pytest.raises(softcheck.UsageError, match="dsinks: need sinks among the inputs"):
            softcheck.reference(*given, which=3, **terms)


def test_what_does_not_fit_is_refused_in_one_line():
    results = at_hand()
    for inputs, outputs, words, message in (
        ((Q, K, V), results, {}, "inputs: need q, k, v, out_gradient, or q, k, v, out, lse, out_gradient, got 3 arrays"),
        ((Q, K, V, DOUT[..., :2]), results, {}, r"out_gradient: need shape \(2, 4, 5, 3\), got \(2, 4, 5, 2\)"),
        ((Q, K, V, DOUT.astype(np.float64)), results, {}, "out_gradient: need dtype f32, as q has it, got f64"),
        ((Q, K, V, DOUT), results[:2], {}, "outputs: need dq, dk, dv, got 2 tensors"),
        ((Q, K, V, DOUT), (results[0], results[2][..., :1], results[2]), {}, "dk: need shape"),
        ((Q, K, V, DOUT), results, {"window": 3}, r"window: need \(left, right\)"),
        ((Q, K, V, DOUT), results, {"k": 3}, "k: attention_backward has none"),
        ((Q, K, V, DOUT), results, {"sinks": np.zeros(3, np.float32)}, r"sinks: need shape \(4,\), got \(3,\)"),
    ):
        with pytest.raises(softcheck.UsageError, match=message) as error:
            softcheck.assert_output("attention_backward", inputs, outputs, **words)
        assert "\n" not in str(error.value)
    with pytest.raises(softcheck.UsageError, match="softcap: adaptive_attention has none"):
        softcheck.assert_output("adaptive_attention", (Q, K, V), Q, softcap=2.0)

"""Attention over packed sequences and over pages, as functions that take cu_seqlens or a block table.
Attention with windows, softcap, sinks, ALiBi, bias and both alignments, as keywords."""

import numpy as np
import pytest
import softcheck
from softcheck import UsageError


SMALL = "batch<=2 heads<=4 queries<=17 keys<=33 dim<=9 values<=9"
QUICK = {"effort": "quick", "progress": False}
CONTRACT = "exp=2ulp sum=sequential masked=zero"


def one_sequence(q, k, v, scale, causal):
    """(queries, heads, dim), (keys, kv heads, dim) to out alike and lse (heads, queries)."""
    kind = q.dtype.type
    queries, heads, keys = q.shape[0], q.shape[1], k.shape[0]
    out, lse = np.zeros((queries, heads, v.shape[2]), q.dtype), np.full((heads, queries), -np.inf, q.dtype)
    for h in range(heads):
        own = h // (heads // k.shape[1])
        for i in range(queries):
            seen = min(keys, max(0, i + keys - queries + 1)) if causal else keys
            if seen == 0:
                continue
            with np.errstate(all="ignore"):
                x = (k[:seen, own] @ q[i, h]) * kind(scale)
                w = np.exp(x - x.max())
                s = w.sum()
                out[i, h] = (w @ v[:seen, own]) / s
                lse[h, i] = x.max() + np.log(s)
    return out, lse


def packed(q, k, v, cu_seqlens_q, cu_seqlens_k, scale=1.0, causal=False):
    out = np.zeros((*q.shape[:2], v.shape[2]), q.dtype)
    lse = np.zeros((q.shape[1], q.shape[0]), q.dtype)
    for b in range(len(cu_seqlens_q) - 1):
        of_q, of_k = slice(*cu_seqlens_q[b : b + 2]), slice(*cu_seqlens_k[b : b + 2])
        out[of_q], lse[:, of_q] = one_sequence(q[of_q], k[of_k], v[of_k], scale, causal)
    return out, lse


def paged(q, k, v, block_table, lengths, scale=1.0, causal=False):
    page = k.shape[1]
    out, lse = np.zeros((*q.shape[:3], v.shape[3]), q.dtype), np.zeros(q.shape[:3], q.dtype)
    for b, length in enumerate(lengths):
        slots = [(block_table[b, j // page], j % page) for j in range(length)]
        keys = np.array([k[slot] for slot in slots]).reshape(length, *k.shape[2:])
        values = np.array([v[slot] for slot in slots]).reshape(length, *v.shape[2:])
        got, own_lse = one_sequence(q[b].swapaxes(0, 1), keys, values, scale, causal)
        out[b], lse[b] = got.swapaxes(0, 1), own_lse
    return out, lse


def judged_packed(function, domain="", **options):
    words = {**QUICK, "domain": f"{SMALL} {domain}", **options}
    return softcheck.check(function, op="attention", contract=CONTRACT, outputs=2, **words)


def test_packed_sequences_are_judged():
    report = judged_packed(packed)
    assert report.verdict == "pass", report
    assert "packed" in report.text


def test_pages_are_judged():
    report = judged_packed(paged)
    assert report.verdict == "pass", report
    assert "pages" in report.text


def test_queries_may_be_packed_above_pages():
    def both(q, k, v, cu_seqlens_q, max_seqlen_q, max_seqlen_k, block_table, lengths, scale=1.0, causal=False):
        starts = cu_seqlens_q
        assert max_seqlen_q == np.diff(starts).max(initial=0) and max_seqlen_k == lengths.max(initial=0)
        page, out = k.shape[1], np.zeros((*q.shape[:2], v.shape[3]), q.dtype)
        lse = np.zeros((q.shape[1], q.shape[0]), q.dtype)
        for b, length in enumerate(lengths):
            of_q = slice(*starts[b : b + 2])
            slots = [(block_table[b, j // page], j % page) for j in range(length)]
            keys = np.array([k[slot] for slot in slots]).reshape(length, *k.shape[2:])
            values = np.array([v[slot] for slot in slots]).reshape(length, *v.shape[2:])
            out[of_q], lse[:, of_q] = one_sequence(q[of_q], keys, values, scale, causal)
        return out, lse

    report = judged_packed(both)
    assert report.verdict == "pass", report


def test_lengths_of_the_wrong_side_show():
    def wrong(q, k, v, cu_seqlens_q, cu_seqlens_k, scale=1.0, causal=False):
        del cu_seqlens_k
        return packed(q, k, v, cu_seqlens_q, np.minimum(cu_seqlens_q, len(k)), scale, causal)

    report = judged_packed(wrong)
    assert report.verdict == "fail", report
    assert "sequence=" in report.text and "lengths=" in report.counterexample.replay
    assert {"q", "k", "v", "cu_q", "cu_k"} == set(report.counterexample.inputs)
    assert report.counterexample.inputs["cu_k"].dtype == np.int32
    again = judged_packed(wrong, replay=report.counterexample.replay)
    assert again.verdict == "fail"


def test_a_function_may_have_names_of_its_own():
    def decode(q, k, v, cache_seqlens, table, scale=1.0, causal=False):
        return paged(q, k, v, table, cache_seqlens, scale, causal)

    takes = {"block_table": "table", "lengths": "cache_seqlens", "scale": "scale", "causal": "causal"}
    assert judged_packed(decode, takes=takes).verdict == "pass"


def test_one_page_size_is_said_by_the_domain():
    def sixteen(q, k, v, block_table, lengths, scale=1.0, causal=False):
        assert k.shape[1] == 16
        return paged(q, k, v, block_table, lengths, scale, causal)

    assert judged_packed(sixteen, domain="page=16").verdict == "pass"


def test_other_ops_and_biases_are_refused():
    with pytest.raises(UsageError, match="packed needs --op attention or attention_backward"):
        softcheck.check(lambda q, k, v: q, op="adaptive_attention", domain="packed", **QUICK)
    with pytest.raises(UsageError, match="no bias beside packed or pages"):
        judged_packed(packed, domain="bias")


def attention(
    q,
    k,
    v,
    mask=None,
    scale=1.0,
    causal=False,
    window=(-1, -1),
    softcap=0.0,
    sinks=None,
    alibi_slopes=None,
    bias=None,
    causal_top_left=False,
):
    kind = q.dtype.type
    queries, keys, group = q.shape[2], k.shape[2], q.shape[1] // max(1, k.shape[1])
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    place = np.arange(queries)[:, None] + (0 if causal_top_left else keys - queries)
    key = np.arange(keys)[None, :]
    seen = np.ones((queries, keys), bool)
    if causal:
        seen &= key <= place
    left, right = window
    if left >= 0:
        seen &= place - key <= left
    if right >= 0:
        seen &= key - place <= right
    seen = seen if mask is None else seen & mask
    with np.errstate(all="ignore"):
        x = np.matmul(q, k.swapaxes(-1, -2)) * kind(scale)
        if softcap:
            x = kind(softcap) * np.tanh(x / kind(softcap))
        if alibi_slopes is not None:
            x = x - alibi_slopes[:, None, None].astype(q.dtype) * np.abs(place - key).astype(q.dtype)
        if bias is not None:
            x = x + bias
        x = np.where(seen, x, -np.inf)
        m = x.max(axis=-1, keepdims=True, initial=-np.inf)
        if sinks is not None:
            m = np.maximum(m, sinks[:, None, None].astype(q.dtype))
        w = np.where(seen, np.exp(x - np.where(np.isinf(m), 0, m)), 0).astype(q.dtype)
        s = w.sum(axis=-1, keepdims=True, dtype=q.dtype)
        if sinks is not None:
            s = s + np.exp(sinks[:, None, None].astype(q.dtype) - m)
        # A hidden value may hold a NaN: where it is hidden from all, it is 0; else products leave it out one by one.
        out = np.zeros((*w.shape[:-1], v.shape[-1]), q.dtype)
        for j in range(keys):
            out += np.where(w[..., j : j + 1] == 0, 0, w[..., j : j + 1] * v[:, :, j : j + 1, :])
        out = np.where(s == 0, 0, out / s)
        missing = np.isnan(v)[:, :, None] & np.broadcast_to(seen, w.shape)[..., None]
        return np.where(missing.any(axis=-2), np.nan, out).astype(q.dtype)


def judged(function, domain="", **options):
    return softcheck.check(function, op="attention", contract=CONTRACT, domain=f"{SMALL} {domain}", **QUICK, **options)


def test_all_keywords_are_judged():
    report = judged(attention)
    assert report.verdict == "pass", report
    assert "window softcap sinks alibi bias causal=either" in report.text


def test_causality_may_always_begin_at_the_first_key():
    def top_left(q, k, v, mask=None, scale=1.0, causal=False):
        return attention(q, k, v, mask, scale, causal, causal_top_left=True)

    assert judged(top_left, domain="causal=top-left").verdict == "pass"
    assert judged(top_left).verdict == "fail"


def test_a_keyword_that_is_not_taken_is_not_asked():
    def plain(q, k, v, mask=None, scale=1.0, causal=False):
        return attention(q, k, v, mask, scale, causal)

    assert judged(plain).verdict == "pass"


def test_adaptive_attention_has_none():
    with pytest.raises(UsageError, match="takes: need names among"):
        softcheck.check(attention, op="adaptive_attention", takes=["window"], **QUICK)


def test_results_at_hand_are_judged_with_their_attributes():
    random = np.random.default_rng(5)
    q, k, v = (random.normal(size=(2, heads, 5, 3)).astype(np.float32) for heads in (4, 2, 2))
    keywords = {
        "window": (2, 0),
        "softcap": 1.5,
        "sinks": random.normal(size=4).astype(np.float32),
        "alibi_slopes": np.float32([0.5, 0.25, 0.125, 0.0625]),
        "bias": random.normal(size=(2, 1, 5, 5)).astype(np.float32),
    }
    words = {"scale": 0.5, "contract": CONTRACT}
    out = attention(q, k, v, scale=0.5, **keywords)
    assert softcheck.assert_output("attention", (q, k, v), out, **words, **keywords)
    for name, value in (("window", (1, 0)), ("softcap", 2.0), ("sinks", None), ("alibi_slopes", None), ("bias", None)):
        with pytest.raises(softcheck.Violation):
            softcheck.assert_output("attention", (q, k, v), out, **words, **{**keywords, name: value})
    top_left = attention(q[:, :, :3], k, v, scale=0.5, causal=True, causal_top_left=True)
    for aligned, error in ((True, None), (False, softcheck.Violation)):
        given = {"causal": True, "causal_top_left": aligned, **words}
        if error is None:
            softcheck.assert_output("attention", (q[:, :, :3], k, v), top_left, **given)
        else:
            with pytest.raises(error):
                softcheck.assert_output("attention", (q[:, :, :3], k, v), top_left, **given)
    with pytest.raises(UsageError, match="softcap: adaptive_attention has none"):
        softcheck.assert_output("adaptive_attention", (q, k, v), out, softcap=1.0)


def dropped(q, k, v, dropout_mask=None, dropout_scale=1.0, before=False):
    """One softmax for all; without a mask and a causal flag."""
    group = q.shape[1] // max(1, k.shape[1])
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    with np.errstate(all="ignore"):
        x = (q @ k.swapaxes(2, 3)) * q.dtype.type(1 / np.sqrt(q.shape[3]))
        w = np.exp(x - x.max(axis=-1, keepdims=True))
        kept = np.ones(x.shape, bool) if dropout_mask is None else dropout_mask
        p = w / (w * kept if before else w).sum(axis=-1, keepdims=True, dtype=q.dtype)
        return (p * np.where(kept, q.dtype.type(dropout_scale), q.dtype.type(0))) @ v


def test_a_dropout_is_a_mask_of_kept_weights():
    words = {**QUICK, "domain": f"{SMALL} keys>=1", "contract": "exp=2ulp sum=sequential"}
    report = softcheck.check(dropped, op="attention", **words)
    assert report.verdict == "pass" and "dropout" in report.text, report

    def wrong(q, k, v, dropout_mask=None, dropout_scale=1.0):
        return dropped(q, k, v, dropout_mask, dropout_scale, before=True)

    report = softcheck.check(wrong, op="attention", **words)
    assert report.verdict == "fail" and report.counterexample.inputs["dropout"].dtype == bool, report
    assert "dropout_mask=dropout" in report.counterexample.as_test()


def test_a_dropout_at_hand():
    random = np.random.default_rng(3)
    q, k, v = (random.normal(size=(1, 2, n, 4)).astype(np.float32) for n in (3, 5, 5))
    kept = random.random((1, 2, 3, 5)) < 0.5
    out = dropped(q, k, v, kept, 2.0)
    assert softcheck.assert_output("attention", (q, k, v), out, dropout_mask=kept, dropout_scale=2.0)
    with pytest.raises(softcheck.UsageError, match="^dropout_scale: need dropout_mask too, got 2.0 and no mask$"):
        softcheck.assert_output("attention", (q, k, v), out, dropout_scale=2.0)
    for wrong in ({}, {"dropout_mask": kept}, {"dropout_mask": ~kept, "dropout_scale": 2.0}):
        with pytest.raises(softcheck.Violation):
            softcheck.assert_output("attention", (q, k, v), out, **wrong)
    cached = [x.astype(np.float16) for x in (k, v)]
    out = dropped(q, *(x.astype(np.float32) for x in cached))
    assert softcheck.assert_output("attention", (q, *cached), out)


def test_a_cache_of_16_bits_below_queries_of_32():
    def attend(q, k, v):
        assert (q.dtype, k.dtype, v.dtype) == (np.float32, np.float16, np.float16)
        return dropped(q, k.astype(np.float32), v.astype(np.float32))

    words = {**QUICK, "domain": f"{SMALL} keys>=1 cache=f16", "contract": "exp=2ulp sum=sequential"}
    report = softcheck.check(attend, op="attention", **words)
    assert report.verdict == "pass", report
    report = softcheck.check(lambda q, k, v: attend(q.astype(np.float16).astype(np.float32), k, v), op="attention", **words)
    assert report.verdict == "fail", report

"""Attention over packed sequences and over pages, as functions that take cu_seqlens or a block table."""

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


def judged(function, domain="", **options):
    words = {**QUICK, "domain": f"{SMALL} {domain}", **options}
    return softcheck.check(function, op="attention", contract=CONTRACT, outputs=2, **words)


def test_packed_sequences_are_judged():
    report = judged(packed)
    assert report.verdict == "pass", report
    assert "packed" in report.text


def test_pages_are_judged():
    report = judged(paged)
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

    report = judged(both)
    assert report.verdict == "pass", report


def test_lengths_of_the_wrong_side_show():
    def wrong(q, k, v, cu_seqlens_q, cu_seqlens_k, scale=1.0, causal=False):
        del cu_seqlens_k
        return packed(q, k, v, cu_seqlens_q, np.minimum(cu_seqlens_q, len(k)), scale, causal)

    report = judged(wrong)
    assert report.verdict == "fail", report
    assert "sequence=" in report.text and "lengths=" in report.counterexample.replay
    assert {"q", "k", "v", "cu_q", "cu_k"} == set(report.counterexample.inputs)
    assert report.counterexample.inputs["cu_k"].dtype == np.int32
    again = judged(wrong, replay=report.counterexample.replay)
    assert again.verdict == "fail"


def test_a_page_too_many_shows():
    def wrong(q, k, v, block_table, lengths, scale=1.0, causal=False):
        page = k.shape[1]
        return paged(q, k, v, block_table, [n + page if n % page == 0 and n > 0 else n for n in lengths], scale, causal)

    report = judged(wrong)
    assert report.verdict == "fail", report
    assert "pages=" in report.counterexample.replay


def test_a_function_may_have_names_of_its_own():
    def decode(q, k, v, cache_seqlens, table, scale=1.0, causal=False):
        return paged(q, k, v, table, cache_seqlens, scale, causal)

    takes = {"block_table": "table", "lengths": "cache_seqlens", "scale": "scale", "causal": "causal"}
    assert judged(decode, takes=takes).verdict == "pass"


def test_one_page_size_is_said_by_the_domain():
    def sixteen(q, k, v, block_table, lengths, scale=1.0, causal=False):
        assert k.shape[1] == 16
        return paged(q, k, v, block_table, lengths, scale, causal)

    assert judged(sixteen, domain="page=16").verdict == "pass"


def test_other_ops_and_biases_are_refused():
    with pytest.raises(UsageError, match="packed needs --op attention or attention_backward"):
        softcheck.check(lambda q, k, v: q, op="adaptive_attention", domain="packed", **QUICK)
    with pytest.raises(UsageError, match="no bias beside packed or pages"):
        judged(packed, domain="bias")

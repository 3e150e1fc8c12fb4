"""Exhaustive effort: as much of all arguments as a budget allows."""

import numpy as np
import pytest
import softcheck

EXHAUSTIVE = {"effort": "exhaustive", "progress": False}
ROWS = {**EXHAUSTIVE, "domain": "theta=1"}
SMALL = [dtype["name"] for dtype in softcheck.describe()["dtypes"] if dtype["bits"] <= 16]


def known_within_a_budget(function, *words, known, **arguments):
    """The report of the least budget within which there is what is looked for: seconds of a loaded machine are short."""
    for budget in (1, 4, 16, 64, 256):
        report = softcheck.check(function, *words, budget=budget, **{**EXHAUSTIVE, **arguments})
        assert report.verdict == "undecided", report
        if known(report):
            return report
    pytest.fail(f"nothing is known in {budget} s: {report}")


def softmax(logits):
    x = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        weights = np.exp(x - x.max(axis=-1, keepdims=True))
        return (weights / weights.sum(axis=-1, keepdims=True)).astype(logits.dtype)


def test_a_budget_ends_it_with_what_is_known():
    known_within_a_budget(
        softmax, "softmax", "float32", domain="theta=1",
        known=lambda report: any("so far within the contract" in note for note in report.data["notes"]),
    )  # fmt: skip


def test_one_wrong_argument_is_found():
    def wrong(logits):
        result = softmax(logits)
        # 2^-149 and its neighbours come first.
        result[np.any(logits == -np.float32(5e-43), axis=-1)] = 0.75
        return result

    report = softcheck.check(wrong, "softmax", "float32", **ROWS, budget=600)
    assert report.verdict == "fail", report
    assert report.data["rows"] < 65536


def test_other_ops_are_refused():
    with pytest.raises(ValueError, match="exhaustive needs one of the ops softmax, log_softmax, logsumexp, entropy, attention"):
        softcheck.check(softmax, "sparsemax", "float32", effort="exhaustive", progress=False)


def test_what_holds_of_all_arguments_is_data_and_a_picture():
    report = known_within_a_budget(
        softmax, "softmax", "float32", domain="theta=1 n=2",
        known=lambda report: report.data["arguments"] and report.data["statements"][0]["judged"] > 0,
    )  # fmt: skip
    (pairs,) = report.data["statements"]
    assert pairs["rows"] > 1.1e9 > pairs["judged"] > 0 and pairs["verdict"] == "undecided"
    assert 0 < pairs["share"] <= pairs["share_at_most"] < 1 and pairs["worst"].startswith("row f32")
    assert {error["statement"] for error in report.data["arguments"]} == {0}
    assert all(0 <= error["worst_ulps"] <= error["allowed_ulps"] for error in report.data["arguments"])
    assert report.data["picture"] in report._repr_html_() and "softmax f32 [" in report.data["picture"]


def test_few_shapes_have_pairs_in_large_calls():
    seen = set()

    def counted(logits):
        seen.add(logits.shape)
        return softmax(logits)

    report = known_within_a_budget(
        counted, "softmax", "float32", shapes="few", isolation="none", domain="theta=1", known=lambda _: (16384, 2) in seen
    )
    assert report.data["statements"][0]["name"].endswith("n = 2, theta = 1")
    assert len(seen) <= 40


def attention(q, k, v, scale):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    with np.errstate(invalid="ignore"):
        scores = scale * (q @ k.swapaxes(-1, -2))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return (weights / weights.sum(axis=-1, keepdims=True) @ v).astype(np.float16)


def test_every_score_of_attention_is_asked_for():
    shapes = set()

    def counted(q, k, v, scale):
        shapes.add((q.shape, k.shape, v.shape))
        return attention(q, k, v, scale)

    report = known_within_a_budget(
        counted, "attention", "float16", shapes="few", isolation="none",
        known=lambda report: report.data["statements"] and report.data["statements"][0]["judged"] > 0,
    )  # fmt: skip
    (scores,) = report.data["statements"]
    assert scores["name"].startswith("every f16 query with every finite key, d = 1")
    # 17 calls hold all 65,536 queries: all but the last have one size.
    assert {queries for queries, _, _ in shapes} <= {(1, 1, 3856, 1), (1, 1, 65536 - 16 * 3856, 1)}
    assert {(keys, values) for _, keys, values in shapes} == {((1, 1, 16, 1), (1, 1, 16, 16))}


def test_one_wrong_score_is_found():
    def wrong(q, k, v, scale):
        out = attention(q, k, v, scale)
        # The least subnormal number, and a query of the second call.
        met = (q[..., 0] == np.float16(0.0005)) & (k[..., 2, 0, None] == np.float16(2.0**-24))
        out[..., 2] = np.where(met, 0.0635, out[..., 2])
        return out

    report = softcheck.check(wrong, "attention", "float16", budget=600, **EXHAUSTIVE)
    assert report.verdict == "fail", report
    assert report.data["counterexample"]["case"].startswith("attention f16 batch=1 kv=1 group=1 queries=1 keys=16 dim=1")


def test_attention_in_float32_is_refused():
    with pytest.raises(ValueError, match=f"needs {', '.join(SMALL[:-1])} or {SMALL[-1]} of attention, got f32"):
        softcheck.check(attention, "attention", "float32", effort="exhaustive", progress=False)

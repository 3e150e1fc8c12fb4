"""Exhaustive effort: as much of all arguments as a budget allows."""

import numpy as np
import pytest
import softcheck

EXHAUSTIVE = {"effort": "exhaustive", "budget": 2, "progress": False, "domain": "theta=1"}


def softmax(logits):
    x = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        weights = np.exp(x - x.max(axis=-1, keepdims=True))
        return (weights / weights.sum(axis=-1, keepdims=True)).astype(logits.dtype)


def test_a_budget_ends_it_with_what_is_known():
    report = softcheck.check(softmax, "softmax", "float32", **EXHAUSTIVE)
    assert report.verdict == "undecided", report
    assert any("so far within the contract" in note for note in report.data["notes"]), report


def test_one_wrong_argument_is_found():
    def wrong(logits):
        result = softmax(logits)
        # 2^-149 and its neighbours come first.
        result[np.any(logits == -np.float32(5e-43), axis=-1)] = 0.75
        return result

    report = softcheck.check(wrong, "softmax", "float32", **{**EXHAUSTIVE, "budget": 60})
    assert report.verdict == "fail", report
    assert report.data["rows"] < 65536


def test_other_ops_are_refused():
    with pytest.raises(ValueError, match="exhaustive needs one of the ops softmax, log_softmax, logsumexp, entropy, attention"):
        softcheck.check(softmax, "sparsemax", "float32", effort="exhaustive", progress=False)


def test_what_holds_of_all_arguments_is_data_and_a_picture():
    report = softcheck.check(softmax, "softmax", "float32", **{**EXHAUSTIVE, "domain": "theta=1 n=2"})
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

    report = softcheck.check(counted, "softmax", "float32", shapes="few", isolation="none", **EXHAUSTIVE)
    assert report.data["statements"][0]["name"].endswith("n = 2, theta = 1")
    assert (16384, 2) in seen and len(seen) <= 40

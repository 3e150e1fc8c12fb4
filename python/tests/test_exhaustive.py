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
    with pytest.raises(ValueError, match="exhaustive needs one of the ops softmax, log_softmax, logsumexp, entropy"):
        softcheck.check(softmax, "sparsemax", "float32", effort="exhaustive", progress=False)

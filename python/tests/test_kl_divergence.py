"""kl_divergence and its gradient: functions of Python, and results at hand."""

import numpy as np
import pytest
import softcheck

QUICK = {"effort": "quick", "domain": "n<=64 rows<=4", "contract": "exp=2ulp sum=tree theta=before", "progress": False}


def logarithms(x):
    with np.errstate(all="ignore"):
        x = x - x.max(axis=-1, keepdims=True)
        return x - np.log(np.exp(x).sum(axis=-1, keepdims=True, dtype=x.dtype))


def kl(logits, teacher, reverse=False, theta=1.0):
    p, q = (logarithms(x / x.dtype.type(theta)) for x in (logits, teacher))
    w, v = (p, q) if reverse else (q, p)
    with np.errstate(all="ignore"):
        return np.where(np.exp(w) == 0, w.dtype.type(0), np.exp(w) * (w - v)).sum(axis=-1, dtype=w.dtype)


def test_both_directions_are_judged():
    report = softcheck.check(kl, op="kl_divergence", **QUICK)
    assert report.verdict == "pass", report
    report = softcheck.check(lambda logits, teacher: kl(logits, teacher), op="kl_divergence", **QUICK)
    assert report.verdict == "pass" and "kl=forward" in report.text, report
    words = {**QUICK, "domain": f"{QUICK['domain']} kl=reverse"}
    assert softcheck.check(lambda logits, teacher: kl(logits, teacher, True), op="kl_divergence", **words).verdict == "pass"
    report = softcheck.check(lambda logits, teacher: kl(teacher, logits), op="kl_divergence", **words)
    assert report.verdict == "pass"
    report = softcheck.check(lambda logits, teacher: kl(logits, teacher), op="kl_divergence", **words)
    assert report.verdict == "fail" and list(report.counterexample.inputs) == ["logits", "teacher"]


def test_results_at_hand():
    x, t = np.array([[1, 2, 3], [0, 4, 0]], np.float32), np.array([[3, 2, 1], [0, -np.inf, 1]], np.float32)
    for reverse in (False, True):
        result = kl(x, t, reverse, 2.0)
        assert np.isinf(result[1]) == reverse
        assert softcheck.assert_output("kl_divergence", (x, t), result, reverse=reverse, theta=2.0)
        with pytest.raises(softcheck.Violation):
            softcheck.assert_output("kl_divergence", (x, t), result, reverse=reverse)
    wrong = np.nan_to_num(result, posinf=1e30)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("kl_divergence", (x, t), wrong, reverse=True, theta=2.0)
    with pytest.raises(softcheck.UsageError, match="reverse: soft_cross_entropy has none"):
        softcheck.assert_output("soft_cross_entropy", (x, t), result, reverse=True)

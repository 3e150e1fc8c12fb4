"""Means and sums of losses, and their gradients: functions, and results at hand."""

import numpy as np
import pytest

import softcheck

QUICK = {"contract": "exp=2ulp sum=sequential", "domain": "n<=65 rows<=17", "effort": "quick", "seed": 1}
RNG = np.random.default_rng(3)
LOGITS = RNG.normal(scale=3, size=(2, 3, 7)).astype(np.float32)
LABELS = np.array([[0, 6, -100], [3, 1, -100]])
WEIGHTS = np.array([1, 0.5, 2, 3, 0, 1, 0.25], np.float32)


def rows_of(logits, labels, class_weights):
    """The rows that count, their labels, log-probabilities and weights."""
    counted = labels != -100
    x, y = logits[counted], labels[counted]
    largest = x.max(axis=-1, keepdims=True) if x.size else np.zeros((len(x), 1), x.dtype)
    logs = (x - largest) - np.log(np.exp(x - largest).sum(axis=-1, keepdims=True, dtype=x.dtype))
    weights = np.ones(len(y), x.dtype) if class_weights is None else class_weights[y]
    return counted, y, logs, weights


def divided(total, divisor):
    with np.errstate(invalid="ignore"):
        return total / divisor


def mean_loss(logits, labels, class_weights=None, reduction="mean"):
    _, y, logs, weights = rows_of(logits, labels, class_weights)
    total = (-logs[np.arange(len(y)), y] * weights).sum(dtype=logits.dtype)
    return divided(total, weights.sum(dtype=logits.dtype)) if reduction == "mean" else total


def over_all_rows(logits, labels, class_weights=None, reduction="mean"):
    total = mean_loss(logits, labels, class_weights, "sum")
    if reduction == "sum" or class_weights is not None or not (labels != -100).any():
        return mean_loss(logits, labels, class_weights, reduction)
    return total / np.float32(labels.size)


def gradient(logits, labels, upstream, class_weights=None, reduction="mean"):
    counted, y, logs, weights = rows_of(logits, labels, class_weights)
    slopes = np.exp(logs)
    slopes[np.arange(len(y)), y] -= 1
    factor = weights * upstream[0]
    if reduction == "mean" and len(y):
        factor = divided(factor, weights.sum(dtype=logits.dtype))
    result = np.zeros_like(logits)
    result[counted] = factor[:, None] * slopes
    return result


def undivided(logits, labels, upstream, class_weights=None, reduction="mean"):
    return gradient(logits, labels, upstream, class_weights, "sum")


def test_a_mean_passes_and_a_wrong_divisor_fails():
    assert softcheck.check(mean_loss, "cross_entropy_mean", **QUICK).verdict == "pass"
    report = softcheck.check(over_all_rows, "cross_entropy_mean", **QUICK)
    assert report.verdict == "fail"
    assert "kernel.cross_entropy_mean.loss" in str(report)


def test_a_function_without_reduction_computes_the_mean():
    assert softcheck.check(lambda logits, labels: mean_loss(logits, labels), "cross_entropy_mean", **QUICK).verdict == "pass"
    sums = {**QUICK, "domain": QUICK["domain"] + " reduction=sum"}
    added = softcheck.check(lambda logits, labels: mean_loss(logits, labels, reduction="sum"), "cross_entropy_mean", **sums)
    assert added.verdict == "pass"


def test_its_gradient_passes_and_one_that_is_not_divided_fails():
    assert softcheck.check(gradient, "cross_entropy_mean_backward", **QUICK).verdict == "pass"
    report = softcheck.check(undivided, "cross_entropy_mean_backward", **QUICK)
    assert report.verdict == "fail"
    assert "kernel.cross_entropy_mean_backward.element" in str(report)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
def test_results_at_hand(reduction, class_weights):
    given = {"reduction": reduction, "class_weights": class_weights, "contract": QUICK["contract"]}
    right = mean_loss(LOGITS, LABELS, class_weights, reduction)
    assert softcheck.assert_output("cross_entropy_mean", (LOGITS, LABELS), np.float32(right), **given)
    other = "sum" if reduction == "mean" else "mean"
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("cross_entropy_mean", (LOGITS, LABELS), right, **{**given, "reduction": other})
    lower, upper = softcheck.reference("cross_entropy_mean", LOGITS, LABELS, **given)
    assert lower.shape == () and lower <= upper
    assert abs(right - lower) <= softcheck.threshold("cross_entropy_mean", LOGITS, LABELS, **given)
    upstream = np.array([-0.75], np.float32)
    slopes = gradient(LOGITS, LABELS, upstream, class_weights, reduction)
    inputs = (LOGITS, LABELS, upstream)
    assert softcheck.assert_output("cross_entropy_mean_backward", inputs, slopes, **given)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("cross_entropy_mean_backward", inputs, slopes, **{**given, "reduction": other})


def test_a_mean_of_nothing_is_what_masked_says():
    labels = np.full((2, 3), -100)
    for masked, value in (("nan", np.nan), ("zero", 0.0)):
        given = {"contract": f"masked={masked}"}
        lower, _ = softcheck.reference("cross_entropy_mean", LOGITS, labels, **given)
        assert np.isnan(lower) if masked == "nan" else lower == 0
        with pytest.raises(softcheck.Violation):
            wrong = np.float32(0.0 if np.isnan(value) else np.nan)
            softcheck.assert_output("cross_entropy_mean", (LOGITS, labels), wrong, **given)


def test_what_does_not_fit_is_refused():
    with pytest.raises(softcheck.UsageError, match="reduction: need 'mean' or 'sum'"):
        softcheck.reference("cross_entropy_mean", LOGITS, LABELS, reduction="none")
    with pytest.raises(softcheck.UsageError, match="reduction: cross_entropy has none"):
        softcheck.reference("cross_entropy", LOGITS, LABELS, reduction="sum")
    with pytest.raises(softcheck.UsageError, match="z_loss"):
        softcheck.reference("cross_entropy_mean", LOGITS, LABELS, z_loss=0.5, class_weights=WEIGHTS)

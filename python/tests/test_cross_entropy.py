"""Cross-entropy and its gradient: functions of logits and labels, attributes as keywords.
Means and sums of losses, and their gradients: functions, and results at hand."""

import numpy as np
import pytest
import softcheck


QUICK = {"effort": "quick", "progress": False, "domain": "n<=129 rows<=9"}


def log_probabilities(logits):
    centred = logits - logits.max(axis=-1, keepdims=True)
    return centred - np.log(np.exp(centred).sum(axis=-1, keepdims=True, dtype=logits.dtype))


def safe(labels, ignore_index):
    ignored = labels == ignore_index
    return ignored, np.where(ignored, 0, labels)[:, None].astype(np.int64)


def cross_entropy(logits, labels, label_smoothing, ignore_index):
    if logits.shape[1] == 0:
        return np.zeros(len(logits), logits.dtype)
    ignored, chosen = safe(labels, ignore_index)
    with np.errstate(all="ignore"):
        logs = log_probabilities(logits)
        loss = -np.take_along_axis(logs, chosen, axis=1)[:, 0]
        if label_smoothing:
            s = logits.dtype.type(label_smoothing)
            loss = (1 - s) * loss + s * -logs.mean(axis=-1, dtype=logits.dtype)
    return np.where(ignored, 0, loss).astype(logits.dtype)


def plain_cross_entropy(logits, labels):
    return cross_entropy(logits, labels, 0.0, -100)


def cross_entropy_backward(logits, labels, upstream):
    if logits.shape[1] == 0:
        return logits
    ignored, chosen = safe(labels, -100)
    with np.errstate(all="ignore"):
        gradient = np.exp(logits - logits.max(axis=-1, keepdims=True))
        gradient /= gradient.sum(axis=-1, keepdims=True, dtype=logits.dtype)
        hit = np.take_along_axis(gradient, chosen, axis=1) - 1
        np.put_along_axis(gradient, chosen, hit, axis=1)
        return np.where(ignored[:, None], 0, gradient * upstream[:, None]).astype(logits.dtype)


CONTRACT = "exp=2ulp sum=sequential"


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("cross_entropy", cross_entropy),
        ("cross_entropy", plain_cross_entropy),
        ("cross_entropy_backward", cross_entropy_backward),
    ],
)
def test_a_right_function_passes(op, function):
    report = softcheck.check(function, op=op, contract=CONTRACT, **QUICK)
    assert report.verdict == "pass", report


def full_cross_entropy(logits, labels, label_smoothing, z_loss, softcap, class_weights, ignore_index):
    """With all that a loss may have."""
    if logits.shape[1] == 0:
        return np.zeros(len(logits), logits.dtype)
    kind = logits.dtype.type
    ignored, chosen = safe(labels, ignore_index)
    weights = np.ones(logits.shape[1], kind) if class_weights is None else class_weights
    with np.errstate(all="ignore"):
        x = kind(softcap) * np.tanh(logits / kind(softcap)) if softcap else logits
        logs = log_probabilities(x)
        loss = weights[chosen[:, 0]] * -np.take_along_axis(logs, chosen, axis=1)[:, 0]
        if label_smoothing:
            s = kind(label_smoothing)
            loss = (1 - s) * loss + s * (weights * -logs).mean(axis=-1, dtype=kind)
        if z_loss:
            loss = loss + kind(z_loss) * (x - logs)[:, 0] ** 2
    return np.where(ignored, 0, loss).astype(logits.dtype)


def test_a_function_is_given_a_softcap_and_class_weights_where_it_takes_them():
    asked = []

    def capped_and_weighted(logits, labels, softcap, class_weights):
        asked.append((softcap, None if class_weights is None else class_weights.shape))
        return full_cross_entropy(logits, labels, 0.0, 0.0, softcap, class_weights, -100)

    report = softcheck.check(capped_and_weighted, op="cross_entropy", contract=CONTRACT, isolation="none", **QUICK)
    assert report.verdict == "pass", report
    assert {softcap for softcap, _ in asked} >= {0.0, 30.0, 50.0, 2.3}
    assert {shape is None for _, shape in asked} == {True, False}


@pytest.mark.parametrize("dropped", ["softcap", "class_weights"])
def test_a_softcap_or_weights_that_are_dropped_are_found(dropped):
    def wrong(logits, labels, label_smoothing, softcap, class_weights):
        given = {"softcap": softcap, "class_weights": class_weights, dropped: None}
        return full_cross_entropy(logits, labels, label_smoothing, 0.0, ignore_index=-100, **given)

    report = softcheck.check(wrong, op="cross_entropy", contract=CONTRACT, **QUICK)
    assert report.verdict == "fail"
    if dropped == "softcap":
        assert report.data["counterexample"]["attributes"]["softcap"] > 0
    else:
        assert list(report.counterexample.inputs) == ["logits", "labels", "class_weights"]


def test_a_function_that_ignores_minus_100_alone_is_not_asked_for_other_labels():
    report = softcheck.check(plain_cross_entropy, op="cross_entropy", contract=CONTRACT, **QUICK)
    assert "ignore=-100" in str(report.data), report


LOGITS = np.random.default_rng(1).normal(size=(2, 3, 7)).astype(np.float32)
LABELS = np.array([[0, 6, -100], [3, 3, 5]])


def test_losses_at_hand_are_judged_by_their_labels():
    losses = plain_cross_entropy(LOGITS.reshape(6, 7), LABELS.reshape(6)).reshape(2, 3)
    for labels in (LABELS, LABELS.astype(np.int32)):
        assert softcheck.assert_output("cross_entropy", (LOGITS, labels), losses).data["judged"] == 6
    smoothed = cross_entropy(LOGITS.reshape(6, 7), LABELS.reshape(6), 0.1, -100).reshape(2, 3)
    assert softcheck.assert_output("cross_entropy", (LOGITS, LABELS), smoothed, label_smoothing=0.1, contract="lse=uncentred")
    with pytest.raises(softcheck.Violation) as violation:
        softcheck.assert_output("cross_entropy", (LOGITS, LABELS), smoothed)
    assert violation.value.report.data["failed"] == 5  # the ignored one is 0 in both


def test_gradients_at_hand_are_judged_by_their_upstream():
    upstream = np.linspace(0.5, 2, 6).astype(np.float32).reshape(2, 3)
    lower, upper = softcheck.reference("cross_entropy_backward", LOGITS, LABELS, upstream)
    gradient = ((lower + upper) / 2).astype(np.float32)
    assert (gradient[0, 2] == 0).all()
    assert softcheck.assert_output("cross_entropy_backward", (LOGITS, LABELS, upstream), gradient)
    allowed = softcheck.threshold("cross_entropy_backward", LOGITS, LABELS, upstream)
    assert (np.abs(gradient - lower) <= allowed).all() and (allowed[0, 2] == 0).all()
    # A threshold as wide as the gradient would grant anything.
    assert (allowed[0, 0] > 0).all() and (allowed[0, 0] < np.abs(gradient[0, 0])).all()
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("cross_entropy_backward", (LOGITS, LABELS, np.ones_like(upstream)), gradient)


def test_losses_at_hand_have_a_softcap_and_class_weights():
    weights = np.array([1, 2, 0.5, 0, 3, 1, 4], np.float32)
    logits, labels = LOGITS.reshape(6, 7), LABELS.reshape(6)
    losses = full_cross_entropy(logits, labels, 0.0, 0.0, 2.0, weights, -100)
    given = {"softcap": 2.0, "class_weights": weights}
    assert softcheck.assert_output("cross_entropy", (logits, labels), losses, **given)
    for left_out in given:
        less = {name: value for name, value in given.items() if name != left_out}
        with pytest.raises(softcheck.Violation):
            softcheck.assert_output("cross_entropy", (logits, labels), losses, **less)
    lower, upper = softcheck.reference("cross_entropy_backward", logits, labels, np.ones(6, np.float32), **given)
    allowed = softcheck.threshold("cross_entropy_backward", logits, labels, np.ones(6, np.float32), **given)
    gradient = ((lower + upper) / 2).astype(np.float32)
    assert (np.abs(gradient - lower) <= allowed).all() and allowed.max() < 1e-5
    with pytest.raises(softcheck.UsageError, match=r"class_weights: need shape \(7,\), got \(6,\)"):
        softcheck.assert_output("cross_entropy", (logits, labels), losses, class_weights=weights[:6])
    with pytest.raises(softcheck.UsageError, match="class_weights: softmax has none"):
        softcheck.assert_output("softmax", LOGITS, LOGITS, class_weights=weights)


def test_what_is_no_label_is_refused():
    losses = np.zeros((2, 3), np.float32)
    with pytest.raises(softcheck.UsageError, match="labels: need int32 or int64, got f32"):
        softcheck.assert_output("cross_entropy", (LOGITS, LABELS.astype(np.float32)), losses)
    with pytest.raises(softcheck.UsageError, match="ignore_index 3, got -100 at"):
        softcheck.assert_output("cross_entropy", (LOGITS, LABELS), losses, ignore_index=3)
    with pytest.raises(softcheck.UsageError, match="label_smoothing: softmax has none"):
        softcheck.assert_output("softmax", LOGITS, LOGITS, label_smoothing=0.1)


MEANS = {"contract": "exp=2ulp sum=sequential", "domain": "n<=65 rows<=17", "effort": "quick", "seed": 1}
RNG = np.random.default_rng(3)
MEAN_LOGITS = RNG.normal(scale=3, size=(2, 3, 7)).astype(np.float32)
MEAN_LABELS = np.array([[0, 6, -100], [3, 1, -100]])
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


def test_means_and_their_gradients_pass():
    assert softcheck.check(mean_loss, "cross_entropy_mean", **MEANS).verdict == "pass"
    assert softcheck.check(gradient, "cross_entropy_mean_backward", **MEANS).verdict == "pass"


def test_a_function_without_reduction_computes_the_mean():
    assert softcheck.check(lambda logits, labels: mean_loss(logits, labels), "cross_entropy_mean", **MEANS).verdict == "pass"
    sums = {**MEANS, "domain": MEANS["domain"] + " reduction=sum"}
    added = softcheck.check(lambda logits, labels: mean_loss(logits, labels, reduction="sum"), "cross_entropy_mean", **sums)
    assert added.verdict == "pass"


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
def test_results_at_hand(reduction, class_weights):
    given = {"reduction": reduction, "class_weights": class_weights, "contract": MEANS["contract"]}
    right = mean_loss(MEAN_LOGITS, MEAN_LABELS, class_weights, reduction)
    assert softcheck.assert_output("cross_entropy_mean", (MEAN_LOGITS, MEAN_LABELS), np.float32(right), **given)
    other = "sum" if reduction == "mean" else "mean"
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("cross_entropy_mean", (MEAN_LOGITS, MEAN_LABELS), right, **{**given, "reduction": other})
    lower, upper = softcheck.reference("cross_entropy_mean", MEAN_LOGITS, MEAN_LABELS, **given)
    assert lower.shape == () and lower <= upper
    assert abs(right - lower) <= softcheck.threshold("cross_entropy_mean", MEAN_LOGITS, MEAN_LABELS, **given)
    upstream = np.array([-0.75], np.float32)
    slopes = gradient(MEAN_LOGITS, MEAN_LABELS, upstream, class_weights, reduction)
    inputs = (MEAN_LOGITS, MEAN_LABELS, upstream)
    assert softcheck.assert_output("cross_entropy_mean_backward", inputs, slopes, **given)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("cross_entropy_mean_backward", inputs, slopes, **{**given, "reduction": other})


def test_what_does_not_fit_is_refused():
    with pytest.raises(softcheck.UsageError, match="reduction: need 'mean' or 'sum'"):
        softcheck.reference("cross_entropy_mean", MEAN_LOGITS, MEAN_LABELS, reduction="none")
    with pytest.raises(softcheck.UsageError, match="reduction: cross_entropy has none"):
        softcheck.reference("cross_entropy", MEAN_LOGITS, MEAN_LABELS, reduction="sum")
    with pytest.raises(softcheck.UsageError, match="z_loss"):
        softcheck.reference("cross_entropy_mean", MEAN_LOGITS, MEAN_LABELS, z_loss=0.5, class_weights=WEIGHTS)


def soft_cross_entropy(logits, targets, z_loss=0.0, theta=1.0):
    with np.errstate(all="ignore"):
        x = logits / logits.dtype.type(theta)
        m = x.max(axis=-1)
        log_sum = np.log(np.exp(x - m[:, None]).sum(axis=-1, dtype=logits.dtype))
        terms = np.where((targets == 0) & np.isinf(x), logits.dtype.type(0), targets * (log_sum[:, None] + (m[:, None] - x)))
        loss = terms.sum(axis=-1, dtype=logits.dtype)
        return loss if z_loss == 0 else (loss + logits.dtype.type(z_loss) * (m + log_sum) ** 2).astype(logits.dtype)


def test_targets_and_a_temperature_are_judged():
    contract = f"{CONTRACT} theta=before"
    report = softcheck.check(soft_cross_entropy, op="soft_cross_entropy", contract=contract, **QUICK)
    assert report.verdict == "pass", report

    def unit_mass(logits, targets):
        logs = log_probabilities(logits)
        return soft_cross_entropy(logits, targets) + (targets.sum(axis=-1) - 1) * logs[:, 0]

    report = softcheck.check(lambda logits, targets, theta: soft_cross_entropy(logits, targets), op="soft_cross_entropy", contract=contract, **QUICK)
    assert report.verdict == "fail" and report.counterexample.theta != 1, report
    report = softcheck.check(unit_mass, op="soft_cross_entropy", contract=contract, **QUICK)
    assert report.verdict == "fail" and list(report.counterexample.inputs) == ["logits", "targets"]


def test_targets_at_hand():
    logits = np.array([[1, 2, 3], [0, 0, 0]], np.float32)
    targets = np.array([[0.5, 0.25, 0.5], [1, 0, 0]], np.float32)
    losses = soft_cross_entropy(logits, targets, theta=2.0)
    assert softcheck.assert_output("soft_cross_entropy", (logits, targets), losses, theta=2.0)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("soft_cross_entropy", (logits, targets), losses)
    with pytest.raises(softcheck.UsageError, match="softcap: need 0 beside a theta"):
        softcheck.assert_output("soft_cross_entropy", (logits, targets), losses, theta=2.0, softcap=30.0)
    with pytest.raises(softcheck.UsageError, match=r"targets: need finite numbers >= 0, got -0\.5 in row \(1,\)$"):
        softcheck.assert_output("soft_cross_entropy", (logits, targets - np.float32([[0], [0.5]])), losses)
    labels = targets.argmax(axis=-1)
    hard = -np.take_along_axis(log_probabilities(logits / 2), labels[:, None], axis=1)[:, 0]
    assert softcheck.assert_output("cross_entropy", (logits, labels), hard, theta=2.0)

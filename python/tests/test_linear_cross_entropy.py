"""linear_cross_entropy and its gradient: functions of Python, autograd, and results at hand."""

import numpy as np
import pytest
import softcheck

QUICK = {"effort": "quick", "domain": "queries<=9 keys>=1 keys<=40 dim<=20", "contract": "exp=2ulp sum=sequential", "progress": False}  # a matmul may add in any order


def losses(hidden, weight, labels, chunk=8):
    """Chunks of the classes, with a running maximum."""
    wide = np.float64 if hidden.dtype == np.float64 else np.float32
    m, s, target = np.full(len(hidden), -np.inf, wide), np.zeros(len(hidden), wide), np.zeros(len(hidden), wide)
    with np.errstate(all="ignore"):
        for first in range(0, len(weight), chunk):
            x = hidden.astype(wide) @ weight[first : first + chunk].astype(wide).T
            top = np.maximum(m, x.max(axis=1))
            s = s * np.exp(m - top) + np.exp(x - top[:, None]).sum(axis=1, dtype=wide)
            m = top
            here = (labels >= first) & (labels < first + x.shape[1])
            target[here] = x[here, labels[here] - first]
        return np.where(labels == -100, wide(0), np.log(s) + (m - target))


def gradients(hidden, weight, labels, upstream, ignore_index=-100):
    counted = labels != ignore_index
    h, y, g = hidden[counted], labels[counted], upstream[counted]
    with np.errstate(all="ignore"):
        x = h @ weight.T
        p = np.exp(x - x.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True, dtype=p.dtype)
        p[np.arange(len(y)), y] -= 1
        p *= g[:, None]
        dhidden = np.zeros_like(hidden)
        dhidden[counted] = p @ weight
        return dhidden, p.T @ h


def test_losses_and_gradients_are_judged():
    report = softcheck.check(losses, op="linear_cross_entropy", **QUICK)
    assert report.verdict == "pass", report
    report = softcheck.check(gradients, op="linear_cross_entropy_backward", **QUICK)
    assert report.verdict == "pass", report


def test_wrong_kernels_fail():
    report = softcheck.check(lambda h, w, y: losses(h, w[: len(w) // 8 * 8 or None], y), op="linear_cross_entropy", **QUICK)
    assert report.verdict == "fail" and list(report.counterexample.inputs) == ["hidden", "weight", "labels"]
    doubled = softcheck.check(lambda h, w, y, g: gradients(h, w, y, g * g), op="linear_cross_entropy_backward", **QUICK)
    assert doubled.verdict == "fail" and "dhidden" in doubled.text
    assert " linear f32 hidden=" in doubled.text and " upstream=" in doubled.text and "attention" not in doubled.text
    assert list(doubled.counterexample.inputs) == ["hidden", "weight", "labels", "upstream"]
    assert "output = your_function(hidden, weight, labels, upstream)" in doubled.counterexample.as_test()


def test_a_kernel_without_ignored_rows_needs_its_word():
    def kernel(hidden, weight, labels):
        assert (labels >= 0).all()
        return losses(hidden, weight, labels)

    words = {**QUICK, "domain": QUICK["domain"] + " noignored"}
    assert softcheck.check(kernel, op="linear_cross_entropy", **words).verdict == "pass"
    with pytest.raises(softcheck.UsageError, match="noignored needs a loss"):
        softcheck.check(lambda q, k, v: v, op="attention", domain="noignored", progress=False)


def test_results_at_hand():
    generator = np.random.default_rng(1)
    hidden, weight = generator.normal(size=(4, 3)).astype(np.float32), generator.normal(size=(5, 3)).astype(np.float32)
    labels, upstream = np.array([4, 0, -100, 2]), np.array([1, -2, 3, 0.5], np.float32)
    loss, (dhidden, dweight) = losses(hidden, weight, labels), gradients(hidden, weight, labels, upstream)
    assert softcheck.assert_output("linear_cross_entropy", (hidden, weight, labels), loss)
    lower, upper = softcheck.reference("linear_cross_entropy", hidden, weight, labels)
    allowed = softcheck.threshold("linear_cross_entropy", hidden, weight, labels)
    assert ((lower - allowed <= loss) & (loss <= upper + allowed)).all() and allowed[2] == 0
    inputs = (hidden, weight, labels, upstream)
    assert softcheck.assert_output("linear_cross_entropy_backward", inputs, (dhidden, dweight))
    counted = gradients(hidden, weight, np.where(labels < 0, 0, labels), upstream)
    with pytest.raises(softcheck.Violation, match="dweight"):
        softcheck.assert_output("linear_cross_entropy_backward", inputs, (dhidden, counted[1]))
    hidden[0, 0] = np.nan
    with pytest.raises(softcheck.Violation, match="NaN is due"):
        softcheck.assert_output("linear_cross_entropy", (hidden, weight, labels), loss)
    with pytest.raises(softcheck.UsageError, match="labels: need one of 5 classes, or ignore_index -100, got 5"):
        softcheck.assert_output("linear_cross_entropy", (hidden, weight, np.array([5, 0, 0, 0])), loss)
    with pytest.raises(softcheck.UsageError, match="weight: need shape"):
        softcheck.assert_output("linear_cross_entropy", (hidden, weight[:, :2], labels), loss)


def test_autograd_gives_both_gradients():
    torch = pytest.importorskip("torch")

    def loss(hidden, weight, labels):
        return torch.nn.functional.cross_entropy(hidden @ weight.T, labels.long(), reduction="none")

    report = softcheck.check(loss, op="linear_cross_entropy_backward", dtype=torch.float32, autograd=True, **QUICK)
    assert report.verdict == "pass", report
    assert softcheck.check(loss, op="linear_cross_entropy", dtype=torch.float32, **QUICK).verdict == "pass"


@pytest.mark.parametrize("term", [{"label_smoothing": 0.1}, {"z_loss": 0.1}, {"softcap": 2.0}])
def test_terms_that_the_op_lacks_are_refused(term):
    layer = (np.zeros((2, 4), np.float32), np.zeros((3, 4), np.float32), np.array([0, 1]))
    loss = np.full(2, np.log(3), np.float32)
    softcheck.assert_output("linear_cross_entropy", layer, loss)
    with pytest.raises(softcheck.UsageError, match=f"{next(iter(term))}: linear_cross_entropy has none"):
        softcheck.assert_output("linear_cross_entropy", layer, loss, **term)

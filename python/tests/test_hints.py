"""What a failing report says to try next."""

import kernels
import numpy as np

import softcheck


def _attention_of_heads(q, k, v, causal):
    """Without grouped heads."""
    with np.errstate(all="ignore"):
        scores = q @ k.swapaxes(-1, -2) * q.dtype.type(1 / np.sqrt(q.shape[-1]))
        if causal:
            visible = np.tril(np.ones(scores.shape[-2:], bool), k.shape[2] - q.shape[2])
            scores = np.where(visible, scores, q.dtype.type(-np.inf))
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True)) @ v


_DENSE = "keys>=1 queries>=1 keys<=33 queries<=33 dim<=32 dim>=1 batch<=2 heads<=4 finite"


def test_a_kernel_that_is_always_causal_is_told_so():
    def attention(q, k, v):
        return _attention_of_heads(q, k, v, True)

    report = softcheck.check(attention, "attention", domain=f"{_DENSE} group<=1")
    assert report.verdict == "fail"
    assert "have the results of a causal call whose last query stands at the last key (domain causal)\n" in report.text
    report = softcheck.check(attention, "attention", domain=f"{_DENSE} group<=1 causal queries<=keys")
    assert report.verdict == "pass", str(report)


def test_a_kernel_without_grouped_heads_is_told_its_domain():
    def attention(q, k, v):
        return _attention_of_heads(q, k, v, False)

    report = softcheck.check(attention, "attention", domain=_DENSE)
    assert report.verdict == "crash", str(report)
    assert "lies outside the domain '" in report.text and "group<=1" in report.text, report.text


def test_a_softmax_in_float16_is_told_to_infer_its_contract():
    def softmax(x):
        with np.errstate(all="ignore"):
            e = np.exp(x - x.max(axis=-1, keepdims=True))
            return e / np.cumsum(e, axis=-1, dtype=x.dtype)[..., -1:]

    report = softcheck.check(softmax, dtype="float16", domain="n>=1 rows>=1 n<=64", cases=20)
    assert report.verdict == "fail"
    assert "another contract may fit: softcheck.infer(softmax, op='softmax', dtype='f16', domain='" in report.text
    assert softcheck.check(kernels.unshifted, cases=20).text.count("softcheck.infer(") == 0  # no contract excuses NaN

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


def _softmax_by(dtype):
    """Its exponentials and their sum are of this type."""

    def softmax(x):
        with np.errstate(all="ignore"):
            e = np.exp(x - x.max(axis=-1, keepdims=True)).astype(dtype)
            return (e / np.cumsum(e, axis=-1, dtype=dtype)[..., -1:]).astype(x.dtype)

    return softmax


def test_a_softmax_in_float16_is_told_to_compute_in_f32():
    report = softcheck.check(_softmax_by("float16"), dtype="float16", domain="n>=1 rows>=1 n<=64", cases=20)
    assert report.verdict == "fail"
    assert "cause: each step seems to be rounded to f16, " in report.text and "softcheck.infer(" not in report.text


def test_a_softmax_that_another_contract_may_fit_is_told_to_infer_it():
    report = softcheck.check(_softmax_by("float16"), domain="n>=1 rows>=1 n<=4 finite", cases=20)
    assert report.verdict == "fail"
    assert "another contract may fit: softcheck.infer(softmax, op='softmax', dtype='f32', domain='" in report.text
    assert softcheck.check(kernels.unshifted, cases=20).text.count("softcheck.infer(") == 0  # no contract excuses NaN


def scaled_dot_product_attention(q, k, v):
    """As torch's without enable_gqa."""
    if q.shape[1] != k.shape[1]:
        raise RuntimeError(f"The size of tensor a ({q.shape[1]}) must match the size of tensor b ({k.shape[1]})")
    return _attention_of_heads(q, k, v, False)


def test_torchs_attention_without_enable_gqa_is_named():
    def attention(q, k, v):
        return scaled_dot_product_attention(q, k, v)

    text = softcheck.check(attention, "attention", domain=_DENSE).text
    gqa = "F.scaled_dot_product_attention takes them with enable_gqa=True; domain='group=1' leaves them out\n"
    assert text.count(gqa) == 1 and "softcheck: this call has grouped heads, " in text, text
    assert "the failing call has grouped heads" not in text


def test_grouped_heads_are_named_for_other_functions_too():
    def attention(q, k, v):
        if q.shape[1] != k.shape[1]:
            raise ValueError("heads")
        return _attention_of_heads(q, k, v, False)

    text = softcheck.check(attention, "attention", domain=_DENSE).text
    assert " of k; domain='group=1' leaves them out\n" in text and "enable_gqa" not in text


def test_a_crash_without_grouped_heads_has_no_such_line():
    def attention(q, k, v):
        if v.shape[-1] != q.shape[-1]:
            raise ValueError("dims")
        return _attention_of_heads(q, k, v, False)

    assert "this call has grouped heads" not in softcheck.check(attention, "attention", domain=f"{_DENSE} group<=1").text

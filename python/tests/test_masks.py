"""Masks as functions take them, and functions with a mask of their own: masks=, mask_mod and score_mod."""

import numpy as np
import pytest
import softcheck
from softcheck import _arrays, _masks

SMALL = "keys>=1 keys<=24 queries>=1 queries<=24 dim<=16 dim>=1 values>=1 batch<=2 heads<=4"
DOCUMENTS = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3] + [4] * 14)


def scores(q, k, scale):
    k = np.repeat(k, q.shape[1] // k.shape[1], 1).astype(float)
    return (1 / np.sqrt(q.shape[3]) if scale is None else scale) * (q.astype(float) @ k.swapaxes(2, 3))


def weights(x):
    """softmax in float64; a row without items is 0."""
    with np.errstate(all="ignore"):
        most = x.max(-1, keepdims=True)
        e = np.exp(x - np.where(np.isneginf(most), 0, most))
        total = e.sum(-1, keepdims=True)
        return e / np.where(total == 0, 1, total)


def attend(q, k, v, added, scale=None):
    """Adds a mask or a bias to the scores."""
    p = weights(scores(q, k, scale) + (0 if added is None else added.astype(float)))
    return (p @ np.repeat(v, q.shape[1] // v.shape[1], 1).astype(float)).astype(q.dtype)


def by_hidden(q, k, v, key_padding_mask=None, scale=None):
    return attend(q, k, v, None if key_padding_mask is None else np.where(key_padding_mask, -np.inf, 0.0), scale)


def judged(function, domain=SMALL, **words):
    words = {"contract": "masked=zero", "max_calls": 250, "isolation": "none", **words}
    return softcheck.check(function, "attention", domain=domain, **words)


def test_a_function_takes_masks_of_hidden_keys():
    takes = {"mask": "key_padding_mask", "scale": "scale"}
    report = judged(by_hidden, f"{SMALL} finite", takes=takes, masks="hidden")
    assert report.verdict == "pass", str(report)
    assert judged(by_hidden, f"{SMALL} finite", takes=takes).verdict == "fail"


@pytest.mark.parametrize("form", ["-inf", "min"])
def test_a_function_adds_its_mask(form):
    lowest = []

    def added(q, k, v, mask=None, scale=None):
        if mask is not None:
            assert mask.dtype == q.dtype
            lowest.append(mask.min(initial=0))
        return attend(q, k, v, mask, scale)

    # Under "min" a row without keys has the weights of its own scores: the domain leaves it out.
    domain = SMALL if form == "-inf" else f"{SMALL} visible>=1"
    report = judged(added, domain, masks=form)
    assert report.verdict == "pass", str(report)
    assert "nan=visible" in report.text
    assert min(lowest) == (-np.inf if form == "-inf" else np.finfo(np.float32).min)
    report = judged(lambda q, k, v, mask=None: attend(q, k, v, mask if mask is None else mask / 2**120), domain, masks=form)
    assert report.verdict == ("pass" if form == "-inf" else "fail"), str(report)
    assert ", masks=" in report.text or form == "-inf"


@pytest.mark.parametrize("dtype, form, bits", [("bf16", "-inf", 0xFF80), ("bf16", "min", 0xFF7F), ("e5m2", "-inf", 0xFC), ("e4m3", "min", 0xFE)])
def test_formats_that_numpy_lacks_have_their_lowest_number(dtype, form, bits):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    passed = _masks.passed(np.array([True, False]), form, dtype, "numpy")
    kind = _arrays.named_dtype(dtype)
    assert passed.view(_arrays.bits_dtype(dtype)).tolist() == [0, bits]
    assert passed[1] == (-np.inf if form == "-inf" else ml_dtypes.finfo(kind).min)


def of_documents(b, h, q_idx, kv_idx):
    return (DOCUMENTS[q_idx] == DOCUMENTS[kv_idx]) & (q_idx >= kv_idx)


def one_by_one(b, h, q_idx, kv_idx):
    """The same with branches, which no array of indices can take."""
    if q_idx < kv_idx:
        return False
    return DOCUMENTS[q_idx] == DOCUMENTS[kv_idx]


@pytest.mark.parametrize("mask_mod", [of_documents, one_by_one])
def test_the_judge_learns_a_mask_from_mask_mod(mask_mod):
    def knowing(q, k, v, scale=None):
        i, j = np.ogrid[: q.shape[2], : k.shape[2]]
        return attend(q, k, v, np.where(of_documents(0, 0, i, j), 0.0, -np.inf), scale)

    words = {"mask_mod": mask_mod, "domain": f"{SMALL} nan=visible"}
    report = judged(knowing, **words)
    assert report.verdict == "pass", str(report)
    assert "nomask" in report.text

    def not_causal(q, k, v):
        same = DOCUMENTS[: q.shape[2], None] == DOCUMENTS[: k.shape[2]]
        return attend(q, k, v, np.where(same, 0.0, -np.inf))

    report = judged(not_causal, **words)
    assert report.verdict == "fail"
    found = report.counterexample
    assert [tensor for tensor in found.inputs if tensor == "mask"] and f"mask_mod={mask_mod.__name__}" in report.text
    assert "mask_mod=" in found.as_test()


def test_the_judge_learns_what_score_mod_adds():
    def alibi(score, b, h, q_idx, kv_idx):
        return np.where(q_idx >= kv_idx, score - (q_idx - kv_idx) * 2.0 ** -(h + 1), -np.inf)

    def knowing(q, k, v, scale=None):
        b, h, i, j = np.ogrid[:1, : q.shape[1], : q.shape[2], : k.shape[2]]
        return attend(q, k, v, alibi(0, b, h, i, j), scale)

    report = judged(knowing, f"{SMALL} nan=visible", score_mod=alibi)
    assert report.verdict == "pass", str(report)
    report = judged(lambda q, k, v: knowing(q, k, v[:, :, ::-1]), f"{SMALL} nan=visible", score_mod=alibi)
    assert report.verdict == "fail"


def raising(b, h, q_idx, kv_idx):
    raise KeyError("no document")


@pytest.mark.parametrize(
    "words, message",
    [
        ({"mask_mod": raising}, r"^mask_mod: need a function of \(b, h, q_idx, kv_idx\), got one that raised KeyError"),
        ({"mask_mod": 3}, "^mask_mod: need a function, got 3"),
        ({"mask_mod": of_documents, "takes": ["mask"]}, "^mask_mod: need .* a mask of its own, got one with the parameter mask"),
        ({"score_mod": lambda score, b, h, q, kv: np.tanh(score)}, "^score_mod: need one that adds a number to every score, got 0 for a score of 0"),
        ({"masks": "hidden"}, "^masks: need a function that takes a mask, got 'hidden'"),
        ({"masks": "added", "takes": ["mask"]}, "^masks: need one of visible, hidden, -inf, min, got 'added'"),
    ],
)
def test_bad_masks_are_refused_in_one_line(words, message):
    with pytest.raises(softcheck.UsageError, match=message) as error:
        judged(lambda q, k, v, **_: attend(q, k, v, None), **words)
    assert "\n" not in str(error.value)
    with pytest.raises(softcheck.UsageError, match="^mask_mod: need attention or attention_backward, got softmax"):
        softcheck.check(lambda x: x, mask_mod=of_documents)


def test_grouped_heads_may_be_interleaved():
    def tiled(q, k, v, scale=None):
        times = q.shape[1] // k.shape[1]
        return attend(q, np.tile(k, (1, times, 1, 1)), np.tile(v, (1, times, 1, 1)), None, scale)

    report = judged(tiled, f"{SMALL} heads=interleaved")
    assert report.verdict == "pass", str(report)
    report = judged(tiled)
    assert report.verdict == "fail"
    report = judged(lambda q, k, v: attend(q, k, v, None), f"{SMALL} heads=interleaved")
    assert report.verdict == "fail" and "heads=interleaved" in report.counterexample.as_test()


def test_expanded_keys_are_views_with_a_stride_of_0():
    strides = []

    def counting(q, k, v, scale=None):
        strides.append(k.strides[:2])
        return attend(q, k, v, None, scale)

    report = judged(counting, f"{SMALL} expanded")
    assert report.verdict == "pass", str(report)
    assert any(0 in of_call for of_call in strides)
    shared = []

    def viewing(q, k, v, scale=None):
        shared.append(np.shares_memory(k, v))
        return attend(q, k, v, None, scale)

    report = judged(viewing, f"{SMALL} values=view")
    assert report.verdict == "pass", str(report)
    assert sum(shared) > 100

"""The calls in the docstrings of assert_output, reference and threshold, as they stand there; and what the pages say of masks."""

import pathlib
import re

import numpy as np
import pytest
import softcheck
from kernels import softmax


def calls_of(function):
    return re.findall(r"^ {8}((?:lower, upper = |allowed = )?softcheck\..*?)(?:  #.*)?$", function.__doc__, re.M)


@pytest.fixture
def names():
    """Results that are exact, each rounded once."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(4, 9)).astype(np.float32)
    q, k, v, dout = rng.normal(size=(4, 1, 2, 5, 3)).astype(np.float32)
    labels = np.array([0, 8, -100, 3])
    outs, lses = rng.normal(size=(3, 5, 4)).astype(np.float32), rng.normal(size=(3, 5)).astype(np.float32)

    def exact(op, *inputs, which=0, dtype=np.float32, **words):
        lower, upper = softcheck.reference(op, *inputs, which=which, **words)
        return ((lower + upper) / 2).astype(dtype)

    causal = {"causal": True}
    gradients = [exact("attention_backward", q, k, v, dout, which=i, **causal) for i in range(3)]
    return {
        "softcheck": softcheck,
        "my_softmax": lambda x: exact("softmax", x),
        "x": x,
        "q": q,
        "k": k,
        "v": v,
        "dout": dout,
        "labels": labels,
        "losses": exact("cross_entropy", x, labels, label_smoothing=0.1),
        "out": exact("attention", q, k, v, **causal),
        "lse": exact("attention", q, k, v, which=1, **causal),
        "dq": gradients[0],
        "dk": gradients[1],
        "dv": gradients[2],
        "weights": exact("topk_softmax", x, k=3, renormalize=True),
        "ids": exact("topk_softmax", x, k=3, which=1, dtype=np.int32),
        "probabilities": exact("top_p_softmax", x, top_p=0.9),
        "outs": outs,
        "lses": lses,
        "merged": exact("merge_states", outs, lses),
        "merged_lse": exact("merge_states", outs, lses, which=1),
    }


@pytest.mark.parametrize("function", [softcheck.assert_output, softcheck.reference, softcheck.threshold])
def test_the_calls_of_a_docstring_run(function, names):
    calls = calls_of(function)
    assert calls
    for call in calls:
        exec(call, dict(names))


def test_the_ops_of_several_outputs_are_among_them():
    text = " ".join(calls_of(softcheck.assert_output))
    for op in ("attention_backward", "topk_softmax", "merge_states", "cross_entropy"):
        assert op in text


def test_a_function_is_told_that_its_mask_may_be_none():
    kinds = set()

    def masked(x, mask):
        kinds.add(type(mask))
        return softmax(x if mask is None else np.where(mask, x, -np.inf).astype(x.dtype))

    softcheck.check(masked, isolation="none", domain="n=3 rows=2", cases=2)
    assert kinds == {type(None), np.ndarray}
    readme = pathlib.Path(__file__).parents[1].joinpath("README.md").read_text()
    for text in (softcheck.check.__doc__, readme):
        assert re.search(r"mask\b[^.;]*\bor\s+None\s+in\s+a\s+call\s+without\s+a\s+mask", text)

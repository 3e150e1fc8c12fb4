"""report.suggested_tolerances: each value that a contract grants passes, and no smaller pair lets all of them pass.
shapes="few": a function that is compiled anew for each shape sees at most forty."""

import itertools
import kernels
import math
import numpy as np
import pytest
import softcheck
from softcheck import _domain
from softcheck._ops import OPS
from softcheck._results import tolerances


RNG = np.random.default_rng(11)


def granted(op, *inputs, **words):
    """The exact values, and those as far above and below as the contract grants."""
    lower, upper = softcheck.reference(op, *inputs, **words)
    allowed = softcheck.threshold(op, *inputs, **words)
    at = np.isfinite(lower) & np.isfinite(upper) & np.isfinite(allowed)
    return lower[at], (lower + allowed)[at], (lower - allowed)[at]


def passes(exact, values, rtol, atol):
    return all(np.all(abs(value - exact) <= atol + rtol * abs(exact)) for value in values)


CALLS = [
    ("softmax", (RNG.normal(size=(5, 60)).astype(np.float32) * 9,), {}),
    ("softmax", (np.zeros((2, 3), np.float16),), {"theta": 2.0}),
    ("log_softmax", (RNG.normal(size=(4, 30)).astype(np.float32),), {}),
    ("logsumexp", (RNG.normal(size=(40, 7)).astype(np.float32),), {}),
    ("attention", tuple(RNG.normal(size=(3, 1, 2, 5, 4)).astype(np.float32)), {"causal": True}),
    ("cross_entropy", (RNG.normal(size=(6, 9)).astype(np.float32), np.arange(6)), {"label_smoothing": 0.1}),
]


@pytest.mark.parametrize(("op", "inputs", "words"), CALLS, ids=[f"{op}-{inputs[0].dtype}" for op, inputs, _ in CALLS])
def test_all_that_is_granted_passes_and_a_smaller_pair_refuses_some_of_it(op, inputs, words):
    lower, upper = softcheck.reference(op, *inputs, **words)
    output = ((lower + upper) / 2).astype(inputs[0].dtype)
    own = softcheck.assert_output(op, inputs, output, **words).suggested_tolerances()
    exact, above, below = granted(op, *inputs, **words)
    assert passes(exact, (above, below), **own)
    np.testing.assert_allclose(above, exact, **own)
    for name in ("rtol", "atol"):
        if own[name] > 0:
            assert not passes(exact, (above, below), **{**own, name: own[name] * (1 - 2**-20)})


def test_no_pair_has_a_smaller_mean():
    for size in [1, 2, 3, 10] * 25:
        x, t = RNG.exponential(size=size), RNG.exponential(size=size)
        pair = tolerances(x, x, t)
        mean = pair["atol"] + pair["rtol"] * x.mean()
        points = [(0, 0), (x.max(), t.max()), *zip(x, t)]
        for (x1, t1), (x2, t2) in itertools.permutations(points, 2):
            if x1 < x2:
                rtol = (t2 - t1) / (x2 - x1)
                atol = t1 - rtol * x1
                if rtol >= 0 and atol >= 0 and np.all(t <= atol + rtol * x + 2**-50):
                    assert mean <= (atol + rtol * x.mean()) * (1 + 2**-40)


def test_the_rounding_of_the_comparison_is_covered():
    for size in range(2, 400):
        x, t = RNG.exponential(size=size), RNG.exponential(size=size)
        pair = tolerances(x, x, t)
        rounded_up = np.nextafter(np.nextafter(t, np.inf), np.inf)  # a threshold is rounded down, by at most one of these
        assert np.all(rounded_up <= pair["atol"] + pair["rtol"] * x)


def test_rows_without_numbers_are_left_out():
    x = np.array([[np.nan, 1.0], [1.0, 2.0], [-np.inf, -np.inf]], np.float32)
    report = softcheck.check(kernels.softmax, domain="n>=1 n<=9", cases=4)
    assert report.suggested_tolerances(x) == report.suggested_tolerances(x[1:2])
    assert report.suggested_tolerances(x[:1]) == {"rtol": 0.0, "atol": 0.0}


def test_the_contract_is_the_report_s():
    x = RNG.normal(size=(3, 50)).astype(np.float32)
    pairs = [
        softcheck.check(kernels.softmax, contract=contract, domain="n>=1 n<=9", cases=4).suggested_tolerances(x)
        for contract in (None, "exp=9ulp")
    ]
    assert pairs[1]["rtol"] > pairs[0]["rtol"] > 0


def test_what_has_no_tolerances_says_why():
    x = np.array([[0.5, 1.0]], np.float32)
    report = softcheck.check(kernels.softmax, domain="n>=1 n<=9", cases=4)
    with pytest.raises(softcheck.UsageError, match=r"keeps no inputs: need those of a test as arguments \(logits\)"):
        report.suggested_tolerances()
    lower, _ = softcheck.reference("top_p_softmax", x, top_p=0.99)
    with pytest.raises(softcheck.UsageError, match="near its boundary"):
        softcheck.assert_output("top_p_softmax", x, lower.astype(np.float32), top_p=0.99).suggested_tolerances()


def _shapes_seen(function, op="softmax", **arguments):
    seen = set()

    def counted(*arrays):
        seen.add(tuple(array.shape for array in arrays))
        return function(*arrays)

    report = softcheck.check(counted, op, isolation="none", shapes="few", **arguments)
    return report, seen


@pytest.mark.parametrize("effort", ["quick", pytest.param("default", marks=pytest.mark.deep)])
def test_few_shapes_are_at_most_forty_and_all_listed_ones(effort):
    report, seen = _shapes_seen(kernels.softmax, effort=effort)
    assert report.verdict == "pass", str(report)
    shapes = {shape for (shape,) in seen}
    assert 30 <= len(shapes) <= 40
    assert {rows for rows, _ in shapes} == {1, 3, 513}
    assert {n for _, n in shapes} >= {1, 3, 13, 17, 64, 100, 127, 401, 1000, 1024, 4097, 20000, 131072}


@pytest.mark.parametrize("shape", [(None, 1000), pytest.param((513, None), marks=pytest.mark.deep), (None, 131072)])
def test_few_shapes_show_a_bug_of_one_of_them(shape):
    def wrong(x):
        p = kernels.softmax(x)
        if x.shape[0] == (shape[0] or x.shape[0]) and x.shape[1] == (shape[1] or x.shape[1]):
            p[-1:, -1:] *= 2
        return p

    report, seen = _shapes_seen(wrong)
    assert report.verdict == "fail" and len(seen) <= 40
    assert "kernel.softmax.element" in {finding.claim for finding in report.findings}


def test_the_lengths_of_attention_make_at_most_forty_shapes():
    words = _domain.with_shapes("few", "numpy", OPS["attention"], None, "quick").split()
    assert {word.split("=")[0] for word in words} == {"batch", "heads", "group", "queries", "keys", "dim", "values"}
    assert math.prod(len(word.split("|")) for word in words) <= 40


@pytest.mark.deep
def test_few_shapes_of_attention_are_at_most_forty():
    def attention(q, k, v):
        return kernels.attention(q, k, v, 1 / np.sqrt(q.shape[-1]), False)

    report, seen = _shapes_seen(attention, "attention", contract="masked=zero")
    assert report.verdict == "pass", str(report)
    assert 20 <= len(seen) <= 40

    def wrong(q, k, v):
        out = attention(q, k, v)
        if k.shape[2] == 1000 and q.shape[3] == 80:
            out[-1, -1, -1, -1] *= 2
        return out

    assert _shapes_seen(wrong, "attention", contract="masked=zero")[0].verdict == "fail"


def test_lengths_that_the_domain_names_are_not_made_few():
    _, seen = _shapes_seen(kernels.softmax, domain="n<=30", cases=10)
    assert {rows for ((rows, _),) in seen} <= {1, 3, 513}
    assert {n for ((_, n),) in seen} == set(range(1, 31))
    _, seen = _shapes_seen(kernels.softmax, domain="rows=2,n=5", cases=10)
    assert {shape for (shape,) in seen} == {(2, 5)}


def test_few_shapes_are_jaxs_default_and_no_others():
    text = softcheck.check(kernels.softmax, cases=1).text
    assert "n=1|3" not in text
    assert "n=1|3" in softcheck.check(kernels.softmax, cases=1, shapes="few").text
    assert "n=0|1|3" in softcheck.check(kernels.softmax, cases=1, shapes="few", domain="n>=0").text
    with pytest.raises(softcheck.UsageError, match="shapes: need one of few, any, got 'some'"):
        softcheck.check(kernels.softmax, shapes="some")

"""report.suggested_tolerances: each value that a contract grants passes, and no smaller pair lets all of them pass."""

import itertools

import kernels
import numpy as np
import pytest
import softcheck
from softcheck._tolerances import tolerances

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

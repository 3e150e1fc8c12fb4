"""shapes="few": a function that is compiled anew for each shape sees at most forty."""

import math

import kernels
import numpy as np
import pytest

import softcheck
from softcheck import _shapes
from softcheck._ops import OPS


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
    words = _shapes.with_shapes("few", "numpy", OPS["attention"], None, "quick").split()
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

"""The replay line of a report, run as it is printed in a program that has the function."""

import functools
import re

import kernels
import numpy as np
import pytest

import softcheck


def line_of(report):
    return re.search(r"replay: (softcheck\.check\(.*\))$", report.text, re.M)[1]


def replayed(report, **names):
    return eval(line_of(report), {"softcheck": softcheck, **names})  # noqa: S307: the line is what is tested


def fails_alike(report, **names):
    again = replayed(report, **names)
    assert again.verdict == report.verdict, f"{line_of(report)}\n{again}"
    line = line_of(report)
    assert f"replay='{again.counterexample.property} " in line
    return line


def softmax_off(x, temperature, out):
    kernels.softmax_into(x if temperature == 1 else (x / temperature).astype(x.dtype), out)
    out *= 1.5


def raises_of_shapes(x):
    if x.shape[0] > 1:
        raise NotImplementedError
    if x.shape[1] > 2:
        raise KeyError("n")
    return kernels.softmax(x)


def test_it_names_what_is_not_the_default():
    report = softcheck.check(
        softmax_off, takes={"theta": "temperature"}, out=True, isolation="none", strides=False, time_limit=7, cases=3, seed=4
    )
    line = fails_alike(report, softmax_off=softmax_off)
    assert "dtype='f32', time_limit=7, takes={'theta': 'temperature'}, out=True, strides=False, isolation='none'" in line
    assert "seed" not in line and "cases" not in line and "refuses" not in line


def test_it_names_the_dtypes_and_the_library_of_its_arrays():
    torch = pytest.importorskip("torch")

    def lse(x):
        return torch.logsumexp(x, -1) + 0.5

    report = softcheck.check(lse, "logsumexp", torch.float16, out_dtype=torch.float16, domain="n>=1", cases=3)
    assert "dtype=torch.float16, out_dtype=torch.float16, domain=" in fails_alike(report, lse=lse, torch=torch)
    report = softcheck.check(lse, "logsumexp", "float64", arrays="torch", domain="n>=1", cases=3)
    assert "dtype='f64', arrays='torch', domain=" in fails_alike(report, lse=lse)
    report = softcheck.check(torch.exp, "softmax", torch.float32, cases=3)
    assert "softcheck.check(torch.exp, op=" in fails_alike(report, torch=torch)


def test_it_names_the_exceptions_that_refuse():
    report = softcheck.check(raises_of_shapes, refuses=(NotImplementedError,), cases=3)
    assert "refuses=(NotImplementedError,)" in fails_alike(report, raises_of_shapes=raises_of_shapes)


def test_it_names_no_function_that_it_cannot_name():
    wrong = [lambda x: kernels.one_item_off(x), functools.partial(kernels.one_item_off)]
    for function in wrong:
        report = softcheck.check(function, domain="n<=129 rows<=3", cases=3)
        assert "softcheck.check(your_function, op=" in fails_alike(report, your_function=function)
        assert "<lambda>" not in line_of(report)


def test_a_dtype_of_numpy_s_is_named():
    report = softcheck.check(kernels.one_item_off, dtype=np.float64, domain="n<=129 rows<=3", cases=3)
    assert "dtype='f64'" in fails_alike(report, one_item_off=kernels.one_item_off)

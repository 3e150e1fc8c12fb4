"""counterexample.as_test: the pasted test fails with the wrong function, passes with a right one, and has the same numbers."""

import functools

import kernels
import numpy as np
import pytest
import softcheck
from softcheck._as_test import Told, as_test


def run(text, **names):
    """The test of the text, pasted into a program with these names."""
    program = dict(names)
    exec(text, program)
    [test] = [value for name, value in program.items() if name.startswith("test_")]
    test()


def exact(op, *inputs, which=0, dtype=None, **words):
    lower, upper = softcheck.reference(op, *inputs, which=which, **words)
    with np.errstate(over="ignore", invalid="ignore"):
        return ((lower + upper) / 2).astype(dtype or inputs[0].dtype)


def in_pairs(op, right, wrong, **words):
    """The test of a counterexample of `wrong`, which fails with it and passes with `right`."""
    report = softcheck.check(wrong, op, **{"isolation": "none", "cases": 60, **words})
    text = report.counterexample.as_test()
    with pytest.raises(AssertionError):
        run(text, **{wrong.__name__: wrong})
    run(text, **{wrong.__name__: right})
    return text


def test_of_rows():
    text = in_pairs("softmax", kernels.softmax, kernels.one_item_off, domain="n>=1")
    assert "logits = np.array([[0.0] * 101], dtype=np.float32)\n" in text
    assert 'softcheck.assert_output("softmax", logits, output)\n' in text and "replay" not in text
    text = in_pairs("softmax", kernels.softmax, kernels.ignores_nan, domain="n>=1")
    assert "from math import inf\n" in text and "assert_output" in text


def test_of_a_contract_and_a_temperature():
    def right(x, theta):
        return exact("softmax", x, theta=theta, contract="masked=zero")

    def wrong(x, theta):
        return exact("softmax", x, theta=theta * (1 + (theta != 1)), contract="masked=zero")

    text = in_pairs("softmax", right, wrong, domain="n>=1 n<=9", contract="masked=zero")
    assert 'contract="masked=zero"' in text and "theta=" in text


def attend(q, k, v, **words):
    return exact("attention", q, k, v, **words)


def test_of_attention_with_a_mask_and_attributes():
    def right(q, k, v, keep, scale, causal, window, sinks):
        return attend(q, k, v, mask=keep, scale=scale, causal=causal, window=window, sinks=sinks)

    def wrong(q, k, v, keep, scale, causal, window, sinks):
        result = right(q, k, v, keep, scale, causal, window, sinks)
        return result + 1 if keep is not None and sinks is not None and window != (-1, -1) else result

    takes = {"mask": "keep", **{name: name for name in ("scale", "causal", "window", "sinks")}}
    text = in_pairs("attention", right, wrong, takes=takes, domain="queries<=4 keys<=4 dim<=2 values<=2")
    assert "keep=mask, scale=" in text and "mask=mask, sinks=sinks, " in text and "dtype=np.bool_" in text


def test_of_inputs_that_are_indices_and_of_several_outputs():
    def losses(x, labels, label_smoothing):
        return exact("cross_entropy", x, labels, label_smoothing=label_smoothing)

    def no_smoothing(x, labels, label_smoothing):
        return exact("cross_entropy", x, labels)

    text = in_pairs("cross_entropy", losses, no_smoothing, domain="n>=1 n<=9")
    assert "dtype=np.int64" in text and "label_smoothing=0.0" not in text.split("assert_output")[1]

    def chosen(x, k):
        ids = exact("topk_softmax", x, which=1, k=k, dtype=np.int32)
        return exact("topk_softmax", x, k=k, dtype=np.float32), ids

    def heavy(x, k):
        weights, ids = chosen(x, k)
        return 2 * weights, ids

    assert "k=" in in_pairs("topk_softmax", chosen, heavy, domain="n>=1 n<=9")


@pytest.mark.parametrize("wrong", [kernels.writes_to_its_input, kernels.raises, kernels.segfaults, kernels.transposed])
def test_what_one_call_s_values_do_not_show_is_replayed(wrong):
    text = in_pairs("softmax", kernels.softmax, wrong, domain="n>=1", isolation="fork")
    assert "replay=" in text and "assert_output" not in text


def test_of_a_partial_function():
    report = softcheck.check(functools.partial(kernels.one_item_off, item=3), takes=[], domain="n>=1", cases=60, isolation="none")
    assert report.verdict == "crash"  # it has no such parameter
    text = report.counterexample.as_test()
    assert "import functools\n" in text and "def test_one_item_off_on_a_counterexample():" in text


SPECIAL = [0.1, -0.0, float("nan"), float("inf"), float("-inf"), 2.0**-149, 1 / 3, 65504.0, -1e38]


def told(arrays):
    return Told("f", "softmax", arrays, {}, None, None, None, "", "kernel.softmax.element")


def found(dtype, values, shape):
    words = {"NaN": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    listed = [words.get(str(v).replace("nan", "NaN"), v) for v in values]
    tensor = {"name": "logits", "dtype": dtype, "shape": shape, "values": listed}
    numbers = {"theta": 1.0, "scale": 1.0, "causal": False}
    return {"inputs": [tensor], "case": "row", "property": "Kernel.EveryValueLiesWithinItsThreshold", **numbers}


def pasted(arrays, dtype, values, shape):
    """The array that the function of a pasted test is called with."""
    got = []

    def f(x):
        got.append(x)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        run(as_test(told(arrays), found(dtype, values, shape)), f=f)
    return got[0]


@pytest.mark.parametrize("shape", [(9,), (3, 3), (1, 9), (9, 1)])
@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_every_number_survives(dtype, shape):
    kind = softcheck._arrays.named_dtype(dtype)
    with np.errstate(over="ignore"):
        values = np.array(SPECIAL).astype(kind)
    array = pasted("numpy", dtype, values.astype(float).tolist(), list(shape))
    assert array.dtype == kind and array.shape == shape
    assert array.tobytes() == values.tobytes()


def test_runs_and_empty_arrays_keep_their_shapes():
    values = [0.0] * 6 + [-0.0] * 6 + [1.0] + [float("nan")] * 7
    array = pasted("numpy", "f64", values, [2, 10])
    assert array.shape == (2, 10) and array.tobytes() == np.array(values).tobytes()
    for shape in ((3, 0), (0, 3)):
        assert pasted("numpy", "f32", [], list(shape)).shape == shape


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_in_the_library_of_the_function(library):
    pytest.importorskip(library)
    values = [v for v in SPECIAL if v == v and abs(v) != 2.0**-149]
    array = pasted(library, "bf16", np.array(values).astype(softcheck._arrays.named_dtype("bf16")).astype(float).tolist(), [1, 7])
    bits, dtype = softcheck._arrays.to_bits(array)
    assert softcheck._arrays.library_of(array) == library and dtype == "bf16"
    assert bits.tobytes() == np.array(values).astype(softcheck._arrays.named_dtype("bf16")).tobytes()


def test_a_plug_in_has_no_test():
    counterexample = softcheck.Counterexample("p", "p row", {}, 1.0, 1.0, False)
    with pytest.raises(softcheck.UsageError, match="as_test: need a counterexample of a Python function"):
        counterexample.as_test()

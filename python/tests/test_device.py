"""Functions and results on a GPU. Without one, only what needs none."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import softcheck
from softcheck import _arrays

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
ROWS = {"device": "cuda", "arrays": "torch", "contract": "exp=4ulp sum=sequential", "progress": False}


def torch_on_a_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU, and torch for CUDA")
    return torch


def finds(report, claim):
    return claim in [finding.claim for finding in report.findings]


# --- in an interpreter of their own
def softmax(x):
    import torch

    assert x.is_cuda
    return torch.softmax(x, -1)


def softmax_without_shift(x):
    """Exponentials of the logits themselves."""
    e = x.exp()
    return e / e.sum(-1, keepdim=True)


def _on_another_stream(x, wait):
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    result = torch.full_like(x, 0.25)
    with torch.cuda.stream(side):
        torch.cuda._sleep(10_000_000)  # clocks: some milliseconds
        result.copy_(torch.softmax(x, -1))
    if wait:
        torch.cuda.current_stream().wait_stream(side)
    return result


def softmax_on_another_stream(x):
    return _on_another_stream(x, True)


def softmax_not_synchronised(x):
    return _on_another_stream(x, False)


def raises_on_the_device(x):
    import torch

    return torch.softmax(x[torch.full((x.shape[0],), 1 << 20, device=x.device)], -1)  # no such row: the device's assertion


def cupy_softmax(x):
    import cupy

    if x.shape[-1] == 0:
        return x.copy()
    e = cupy.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_function_on_the_device(dtype):
    torch_on_a_gpu()
    report = softcheck.check(softmax, dtype=dtype, **ROWS)
    assert report, str(report)


def test_its_bug_is_found():
    torch_on_a_gpu()
    assert finds(softcheck.check(softmax_without_shift, **ROWS), "kernel.softmax.element")


def test_work_of_another_stream_is_waited_for_where_the_function_does():
    torch_on_a_gpu()
    small = {**ROWS, "cases": 20}
    assert softcheck.check(softmax_on_another_stream, **small)
    assert not softcheck.check(softmax_not_synchronised, **small)


def test_an_error_of_the_device_is_a_crash_and_the_next_call_has_a_device():
    torch_on_a_gpu()
    report = softcheck.check(raises_on_the_device, **ROWS, cases=3)
    assert report.verdict == "crash" and "CUDA" in str(report), str(report)
    assert softcheck.check(softmax, **ROWS, cases=3)


def test_in_this_process():
    torch_on_a_gpu()
    assert softcheck.check(softmax, isolation="none", **ROWS)


def test_results_on_the_device_are_judged_where_they_lie():
    torch = torch_on_a_gpu()
    logits = torch.randn(64, 1000, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    for dtype in (torch.float32, torch.bfloat16):
        x = logits.to(dtype)
        softcheck.assert_output("softmax", x, torch.softmax(x, -1), contract="exp=4ulp sum=tree")
        with pytest.raises(softcheck.Violation):
            softcheck.assert_output("softmax", x, torch.softmax(1.01 * x, -1), contract="exp=4ulp sum=tree")
    lower, upper = softcheck.reference("softmax", logits)
    assert (np.asarray(lower) <= np.asarray(upper)).all()


def test_cupy():
    torch_on_a_gpu()
    pytest.importorskip("cupy")
    report = softcheck.check(cupy_softmax, arrays="cupy", contract="exp=4ulp sum=sequential", progress=False)
    assert report, str(report)


def test_an_array_that_only_exports_itself():
    torch = torch_on_a_gpu()
    lent = Lent(torch.arange(12.0, device="cuda").reshape(3, 4))
    bits, dtype = _arrays.to_bits(lent)
    assert dtype == "f32" and (bits == np.arange(12.0).reshape(3, 4)).all()


class Lent:
    """DLPack's protocol and nothing else; of a device that cannot be copied from, where there is no array."""

    def __init__(self, array=None):
        self.array = array

    def __dlpack_device__(self):
        return (2, 0) if self.array is None else self.array.__dlpack_device__()

    def __dlpack__(self, **words):
        if self.array is None:
            raise BufferError("it stays where it is")
        return self.array.__dlpack__(**words)


def test_an_array_that_exports_itself_on_the_cpu():
    bits, dtype = _arrays.to_bits(Lent(np.arange(3.0)))
    assert dtype == "f64" and (bits == [0, 1, 2]).all()


def test_an_array_that_does_not_leave_its_device_is_told():
    with pytest.raises(TypeError, match=r"copied to the CPU, got Lent on DLPack's device \(2, 0\)"):
        _arrays.to_bits(Lent())


@pytest.mark.parametrize("arguments, message", [({}, "need arrays of torch"), ({"arrays": "torch", "out": True}, "over the judge's memory")])
def test_what_a_device_is_not_for_is_told(arguments, message):
    with pytest.raises(softcheck.UsageError, match=message):
        softcheck.check(lambda x: x, device="cuda", **arguments)


@pytest.mark.parametrize("isolation", ["spawn", "none"])
def test_a_device_that_is_not_there_is_told(isolation):
    pytest.importorskip("torch")
    with pytest.raises(softcheck.UsageError, match="device: torch cannot use 'cuda:77': "):
        softcheck.check(softmax, device="cuda:77", arrays="torch", isolation=isolation)


@pytest.mark.parametrize("example", ["triton_softmax", "triton_attention"])
def test_triton_compiled(example):
    torch_on_a_gpu()
    pytest.importorskip("triton")
    asked = subprocess.run([sys.executable, EXAMPLES / f"{example}.py"], env={**os.environ, "TRITON_INTERPRET": "0"},
                           capture_output=True, text=True, timeout=600, check=False)  # fmt: skip
    correct, _, wrong = asked.stdout.partition("\n")
    assert asked.returncode == 0 and "pass" in correct and "fail" in wrong, asked.stdout + asked.stderr

"""Every example passes, and the bug beside it is found."""

import os
import pathlib
import sys

import pytest

import softcheck

# Read once, when Triton is imported: by torch, it may be.
os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))


def finds(report: softcheck.Report, claim: str) -> bool:
    return claim in [finding.claim for finding in report.findings]


def test_numpy():
    import numpy_softmax

    assert softcheck.check(numpy_softmax.softmax)
    assert finds(softcheck.check(numpy_softmax.softmax_without_maximum), "kernel.softmax.element")


def test_torch():
    torch = pytest.importorskip("torch")
    import torch_compile

    assert softcheck.check(torch_compile.softmax, dtype=torch.float32)
    assert softcheck.check(torch_compile.softmax, dtype=torch.bfloat16, contract="sum=tree")
    report = softcheck.check(torch_compile.softmax_in_bfloat16, dtype=torch.bfloat16, domain="n<=4096 rows<=8")
    assert finds(report, "kernel.softmax.element")
    attention = softcheck.infer(torch_compile.attention, **torch_compile.ATTENTION)
    assert attention.contract is not None, str(attention)


def test_torch_compile():
    pytest.importorskip("torch")
    import torch_compile

    report = softcheck.check(torch_compile.compiled, **torch_compile.COMPILED)
    assert report, str(report)


def test_triton_softmax():
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    import triton_softmax

    report = softcheck.check(triton_softmax.softmax, **triton_softmax.JUDGED)
    assert report, str(report)
    assert finds(softcheck.check(triton_softmax.softmax_padded_with_zeros, **triton_softmax.JUDGED), "kernel.softmax.element")


def test_triton_attention():
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    import triton_attention

    report = softcheck.check(triton_attention.attention, **triton_attention.JUDGED)
    assert report, str(report)
    wrong = softcheck.check(triton_attention.attention_without_rescale, **triton_attention.JUDGED)
    assert finds(wrong, "kernel.attention.output")


def test_kernelbench():
    torch = pytest.importorskip("torch")
    import kernelbench

    x = torch.randn(64, 8192)
    assert torch.allclose(kernelbench.Model()(x), kernelbench.ModelNew()(x), rtol=1e-4, atol=1e-4)
    assert kernelbench.judge(kernelbench.Model())
    assert finds(kernelbench.judge(kernelbench.ModelNew()), "kernel.softmax.element")


def test_pallas():
    """Interpreted on the CPU."""
    pytest.importorskip("jax.experimental.pallas")
    import pallas_softmax

    report = pallas_softmax.judge(pallas_softmax.softmax, isolation="none")
    assert report.verdict == "pass", str(report)
    report = pallas_softmax.judge(pallas_softmax.softmax_with_pads_of_zero, isolation="none")
    assert report.verdict == "fail"
    assert finds(report, "kernel.softmax.element")

"""The Pallas example, interpreted on the CPU: the correct kernel passes, the planted bug is found."""

import pathlib
import sys

import pytest

pytest.importorskip("jax.experimental.pallas")
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))

import pallas_softmax  # noqa: E402


def test_a_correct_kernel_passes():
    report = pallas_softmax.judge(pallas_softmax.softmax, isolation="none")
    assert report.verdict == "pass", str(report)


def test_pads_that_score_zero_are_found():
    report = pallas_softmax.judge(pallas_softmax.softmax_with_pads_of_zero, isolation="none")
    assert report.verdict == "fail"
    assert "kernel.softmax.element" in {finding.claim for finding in report.findings}

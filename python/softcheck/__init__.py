"""softcheck: judges softmax and attention kernels by thresholds that are derived from what the kernel promises.

    import numpy as np, softcheck

    def my_softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    report = softcheck.check(my_softmax, op="softmax", dtype="float32")
    report.raise_for_verdict()
"""

from ._adaptive import adaptive_attention, adaptive_softmax
from ._certify import Certificates, certify
from ._check import check, infer, version
from ._library import UsageError, describe
from ._mark import kernel
from ._results import assert_output, reference, threshold
from ._scorecard import Score, ScoreCard, scorecard
from .report import Claim, Counterexample, Report, Violation

__all__ = [
    "Certificates",
    "Claim",
    "Counterexample",
    "Report",
    "Score",
    "ScoreCard",
    "UsageError",
    "Violation",
    "adaptive_attention",
    "adaptive_softmax",
    "assert_output",
    "certify",
    "check",
    "describe",
    "infer",
    "kernel",
    "reference",
    "scorecard",
    "threshold",
    "version",
]
__version__ = version().split()[0]

"""Judges one kernel of a library: the contract that it keeps, and the claims that it breaks."""

from __future__ import annotations

import re
import time
from typing import Any, Callable, Mapping, Sequence

import softcheck

from .. import _library
from .._dtypes import DTYPES
from .._domain import tries_empty_rows
from .._ops import OPS
from .kernel import Kernel

# Claims on rows that have no finite answer. A convention may settle them, so the values are judged without them.
SPECIAL = ("kernel.nan_row", "kernel.masked_row", "kernel.infinite_row")
# Rows of float64 take the judge longer: its quick filter is for outputs of at most 24 bits.
F64_LENGTH = 16384
F64_TIME = 3
# Contracts for a kernel for which softcheck.infer finds none, from one that every kernel of good arithmetic keeps to one
# of kernels that store all values in the format of their results. {0} is that format.
FLUSHED_16 = "acc={0} exp=1ulp sum=tree subnormal=flushed"
ROWS = (
    "exp=4ulp sum=sequential subnormal=flushed",
    "exp=4ulp sum=sequential products={0}",
    "exp=4ulp sum=sequential weights={0}",
    "exp=4ulp sum=sequential total={0}",
    "exp=4ulp sum=sequential total={0} weights={0}",
    "acc={0} exp=1ulp sum=tree",
    FLUSHED_16,
    "acc={0} total={0} weights={0} exp=64ulp sum=sequential theta=before lse=uncentred",
)
ATTENTION = (
    "exp=4ulp sum=sequential scale=split",
    "exp=4ulp sum=sequential scale=split weights={0}",
    "exp=4ulp sum=sequential scale=split weights={0} scores={0}",
    "exp=4ulp sum=sequential scale=stored weights={0} scores={0}",
    "acc={0} weights={0} scores={0} values={0} scale=stored exp=64ulp sum=sequential",
)
# Words by which a contract grants more than f32 arithmetic of a 16-bit result needs, or than a shifted row loses.
WEAK = (
    *("acc=f16", "acc=bf16", "total=", "weights=", "scores=", "values=", "products=", "ds=", "differences=", "softcap=", "sinks="),
    *("exp_floor=", "theta=before", "lse=uncentred", "scale=stored"),
)


class _BudgetEnded(Exception):
    """The stage in which the pair's budget ended: "inference" or "a check"."""

    def __init__(self, stage: str) -> None:
        super().__init__(f"the budget ended in {stage}")
        self.stage = stage


class _Stages:
    """The stages of one pair of kernel and dtype, one after the other, before one deadline."""

    def __init__(self, kernel: Kernel, budget: float, arguments: Mapping[str, Any]) -> None:
        self._kernel = kernel
        self._end = time.monotonic() + budget
        self._arguments = arguments

    def ask(self, contract: str | None, exempt: Sequence[str]) -> softcheck.Report:
        """Judges by the contract, or by the one that inference finds. Raises _BudgetEnded if the budget ends before
        a decision."""
        stage = "inference" if contract is None else "a check"
        judge_by: Callable[..., softcheck.Report] = softcheck.infer if contract is None else softcheck.check
        words = {} if contract is None else {"contract": contract}
        # The tables of docs/ are of compact arrays: most of these libraries copy views with strides before they compute.
        kernel, arguments = self._kernel, {"strides": False, **self._arguments, **words, "exempt": exempt}
        # Each property gets a part of a budget, so that failures show soon; the slowest one may be cut while most of
        # the budget is left. A judgement that was cut so is repeated, until the end and without parts.
        for in_parts in (True, False):
            left = self._end - time.monotonic()
            if left <= 0:
                break
            with _library.ending_at(self._end):
                report = judge_by(kernel.function, kernel.op, kernel.dtype, **arguments, budget=left if in_parts else None)
            # A value that stays undecided does not count as cut.
            cut = report.data.get("ended_early") or report.data.get("verdict") == "error"
            if report.verdict != "undecided" or not cut:
                return report
            if report.data.get("interrupted"):
                break
        raise _BudgetEnded(stage)


def judge(kernel: Kernel, isolation: str, budget: float, effort: str = "quick") -> dict[str, Any]:
    """The verdict in plain data. The budget is for all stages together, three times as long for float64.

    contract   the one found or documented; None if no standard one fits
    verdict    "pass", or another verdict of softcheck.Report; "pass" with `weak` words of the contract is a weaker
               contract
    ended      "inference" or "a check", in which the budget ended; None if it did not
    findings   each failing claim, by its smallest input
    statements, picture  of exhaustive effort, else None
    """
    start = time.monotonic()
    if kernel.dtype == "float64":
        budget *= F64_TIME
    arguments = {
        "arrays": kernel.arrays,
        "isolation": isolation,
        "effort": effort,
        "progress": False,
        "max_length": F64_LENGTH if kernel.dtype == "float64" else None,
        **kernel.arguments,
    }
    if not tries_empty_rows(OPS[kernel.op], kernel.arguments.get("domain")):  # the tables of docs/ have empty rows, too
        arguments["domain"] = f"{kernel.arguments.get('domain') or ''} n>=0".strip()
    stages = _Stages(kernel, budget, arguments)
    found: list[dict[str, Any]] = []
    exempt = list(kernel.exempt)
    told: dict[str, Any]
    try:
        report, contract = _judged(kernel, stages, found, exempt)
        told = {
            "verdict": "fail" if contract is None and found and report.verdict == "vacuous" else report.verdict,
            "ended": None,
            "summary": report.summary,
            "text": report.text,
            **{name: report.data.get(name) for name in ("calls", "statements", "picture")},
        }
    except _BudgetEnded as error:  # no stage found a contract, but a given one stays
        contract = kernel.contract
        told = {"verdict": "undecided", "ended": error.stage, "summary": f"undecided: {error}", "text": str(error)}
        told |= {"calls": None, "statements": None, "picture": None}
    words = (contract or "").split()
    return {
        "kernel": kernel.name,
        "op": kernel.op,
        "dtype": kernel.dtype,
        "link": kernel.link,
        "notes": kernel.notes,
        "domain": kernel.arguments.get("domain"),
        "contract": contract,
        "weak": [word for word in words if is_weak(word, kernel.dtype)],
        "exempt": exempt,
        **told,
        "findings": found,
        "seconds": round(time.monotonic() - start, 1),
    }


def _judged(
    kernel: Kernel, stages: _Stages, found: list[dict[str, Any]], exempt: list[str]
) -> tuple[softcheck.Report, str | None]:
    """The last stage's report and the contract. Adds the claims that the kernel breaks to found, and to exempt."""
    while True:
        report = stages.ask(kernel.contract, exempt)
        special = [claim for claim in report.findings if claim.claim in SPECIAL]
        if report.contract is None:  # then the word for a masked row is not known either, and _widened looks for it
            special = [claim for claim in special if claim.claim != "kernel.masked_row"]
        found += [_finding(report, claim, report.contract) for claim in special]
        exempt += [claim.claim for claim in special]
        if not special or not set(SPECIAL) - set(exempt):
            break
    contract = report.contract
    if contract is None and report.verdict not in ("crash", "timeout"):
        return _widened(kernel, report, stages, found, exempt)
    if not report:
        found += _findings(report, contract, exempt)
        if report.verdict == "fail":  # of inference's own contract or a documented one: a wider one may hold
            return _widened(kernel, report, stages, found, exempt)
        contract = contract if report.verdict == "undecided" else None
    return report, contract


def _widened(
    kernel: Kernel, inferred: softcheck.Report, stages: _Stages, found: list[dict[str, Any]], exempt: list[str]
) -> tuple[softcheck.Report, str | None]:
    """The first of the contracts above that the kernel keeps, or None. Adds to found what the kernel breaks under the
    first contract, unless found has it, and what it breaks under the last if it keeps none."""
    conventions = _masked(kernel, inferred, stages, exempt)
    ladder = ATTENTION if kernel.op == "attention" else ROWS
    if kernel.dtype == "float16":  # flushing in its arithmetic would excuse 2^-14 at each step
        ladder = tuple(words for words in ladder if words != FLUSHED_16)
    if kernel.dtype not in ("float16", "bfloat16"):
        ladder = ladder[:1] if kernel.dtype == "float32" else (ladder[0], f"acc=f32 {ladder[0]}")
    if kernel.op == "cross_entropy":  # most subtract the label's logit from a log-sum-exp
        ladder = (ladder[0], f"{ladder[0]} lse=uncentred", *ladder[1:])
    for words in ladder:
        own, entropy = words, []
        if kernel.op == "entropy":  # in 16 bits throughout, the form by coefficients allows errors as large as some entropies
            own = words.replace(" lse=uncentred", "")
            entropy = ["entropy_from=logits" if "sum=tree" in words else "entropy_from=coefficients lse=uncentred"]
        contract = " ".join([own.format(DTYPES[kernel.dtype]), conventions, *entropy])
        report = stages.ask(contract, exempt)
        if words == ladder[0] and _breaks_masked_row(report):  # inference ended before it had tried such a row
            other = _tried(kernel, stages, exempt)
            if other is None:  # hidden items give 0, say, and a row of -inf NaN
                found += [_finding(report, claim, contract) for claim in report.findings if claim.claim == "kernel.masked_row"]
                exempt.append("kernel.masked_row")
            else:
                contract, conventions = contract.replace(conventions, other), other
            report = stages.ask(contract, exempt)
        if report.verdict in ("pass", "crash", "timeout"):
            return report, contract if report else None
        if words == ladder[0]:
            told = {finding["claim"] for finding in found}
            found += [finding for finding in _findings(report, contract, exempt) if finding["claim"] not in told]
    if len(ladder) > 1:
        found += [{**finding, "narrow": True} for finding in _findings(report, contract, exempt)]
    return report, None


def _masked(kernel: Kernel, inferred: softcheck.Report, stages: _Stages, exempt: Sequence[str]) -> str:
    """The word for a row without a visible item: the one that inference names, or the one that is not broken."""
    words = sorted(set(re.findall(r"\bmasked=\w+", inferred.text)))
    known = len(words) == 1 and not _breaks_masked_row(inferred)
    return words[0] if known else _tried(kernel, stages, exempt) or "masked=nan"


def _tried(kernel: Kernel, stages: _Stages, exempt: Sequence[str]) -> str | None:
    """The first word of masked= that is not broken; None if all are."""
    wide = "exp=64ulp sum=sequential"
    if kernel.op == "attention" and kernel.dtype in ("float16", "bfloat16"):  # equal weights, stored in 16 bits, are off as well
        wide += f" scale=split weights={DTYPES[kernel.dtype]}"
    for word in ("masked=nan", "masked=zero", "masked=uniform"):
        if not _breaks_masked_row(stages.ask(f"{wide} {word}", exempt)):
            return word
    return None


def _breaks_masked_row(report: softcheck.Report) -> bool:
    return any(claim.claim == "kernel.masked_row" for claim in report.findings)


def is_weak(word: str, dtype: str) -> bool:
    return word.startswith(WEAK) or (word, dtype) == ("acc=f32", "float64")


def _findings(report: softcheck.Report, contract: str | None, exempt: Sequence[str]) -> list[dict[str, Any]]:
    left = ("contract", "contract.grade", "kernel.verdict", *exempt)
    return [_finding(report, claim, contract) for claim in report.findings if claim.claim not in left]


def _finding(report: softcheck.Report, claim: softcheck.Claim, contract: str | None) -> dict[str, Any]:
    rows = [row for row in report.data["claims"] if row["claim"] == claim.claim]
    evidence = next((c["evidence"] for row in rows for c in row.get("failed", ()) if c.get("evidence")), {})
    value = evidence.get("value") or {}
    return {
        "claim": claim.claim,
        "verdict": claim.verdict,
        "contract": contract,
        "case": evidence.get("case"),
        "got": value.get("got"),
        "expected": [value["expected"]["lower"], value["expected"]["upper"]] if value.get("expected") else None,
        "details": [line for line in claim.details if not line.startswith("replay:")],
    }

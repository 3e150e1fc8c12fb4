"""scorecard: several judgements in one table."""

from __future__ import annotations

import html
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Collection, Iterator, Mapping

from ._arrays import dtype_of
from ._again import name_in_its_program
from ._check import check
from ._library import UsageError, shown
from ._words import Dtype, OpName
from .report import Report, number

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._words import CheckArguments

_COLUMNS = ("op", "dtype", "function", "verdict", "worst ulp", "allowed", "bias ulp", "slack", "calls", "seconds")
_WORDS = 4  # of these columns are text
_SHOWN = re.compile(r"error +([\d.e+]+)ulp\(\w+\), ([\d.e+]+) times the threshold")


@dataclass(frozen=True)
class Score:
    """One judgement. worst_ulps is the largest |got - exact| of a value, allowed_ulps the error that the contract
    grants that value, and bias_ulps the mean of got - exact, in ulps at the exact value. They are NaN if no value was
    compared."""

    op: str
    dtype: str
    function: str
    report: Report
    seconds: float

    @property
    def _errors(self) -> Mapping[str, Any]:
        found = [row["errors"] for row in self.report.data.get("claims", ()) if (row.get("errors") or {}).get("values")]
        worst = max(found, key=lambda errors: number(errors["worst_ulps"]), default={})
        # The calls that a report shows are not all counted there.
        shown = [_SHOWN.search(line) for claim in self.report.findings for line in claim.details]
        off, times = max(((float(line[1]), float(line[2])) for line in shown if line), default=(0.0, 1.0))
        if off > number(worst.get("worst_ulps", 0)):
            return {**worst, "worst_ulps": off, "worst_allowed_ulps": off / times}
        return worst

    @property
    def worst_ulps(self) -> float:
        return number(self._errors.get("worst_ulps"))

    @property
    def allowed_ulps(self) -> float:
        return number(self._errors.get("worst_allowed_ulps"))

    @property
    def bias_ulps(self) -> float:
        return number(self._errors.get("bias_ulps"))

    @property
    def slack(self) -> float:
        """The largest of the report's claims; infinite if a claim fails on a NaN, or by a crash."""
        if any(claim.slack != claim.slack and claim.claim != "kernel.verdict" for claim in self.report.findings):
            return float("inf")
        return max(self.report.slack.values(), default=float("nan"))

    @property
    def cells(self) -> tuple[str, ...]:
        numbers = [(self.worst_ulps, ".4g"), (self.allowed_ulps, ".4g"), (self.bias_ulps, "+.2g"), (self.slack, ".3g")]
        texts = [format(value, how) if value == value else "-" for value, how in numbers]
        counted = [str(self.report.data.get("calls", "-")), f"{self.seconds:.1f}"]
        return (self.op, self.dtype, self.function, self.report.verdict, *texts, *counted)


class ScoreCard(tuple[Score, ...]):
    """The scores in the order of ops, functions and dtypes. True if all passed; print() and a notebook show a
    table."""

    def __bool__(self) -> bool:
        return all(bool(score.report) for score in self)

    def __str__(self) -> str:
        rows = [_COLUMNS, *(score.cells for score in self)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        sides = ["<"] * _WORDS + [">"] * (len(_COLUMNS) - _WORDS)
        lines = ["  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths)) for row in rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def line(tag: str, cells: tuple[str, ...], colour: str) -> str:
            words = [f"<{tag}{colour if i == _WORDS - 1 else ''}>{html.escape(cell)}</{tag}>" for i, cell in enumerate(cells)]
            return f"<tr>{''.join(words)}</tr>"

        body = [line("td", score.cells, f' style="color:{"#1a7f37" if score.report else "#cf222e"}"') for score in self]
        return f"<table>{line('th', _COLUMNS, '')}{''.join(body)}</table>"


def _pairs(functions: Any, op: str) -> Iterator[tuple[str, Any]]:
    for name, several in functions.items() if isinstance(functions, Mapping) else [(op, functions)]:
        for function in several if isinstance(several, (list, tuple, set, frozenset)) else (several,):
            if not callable(function) and not (isinstance(function, str) and ":" in function):
                raise UsageError(f"functions: need functions, a list of them or a dictionary of both by op, got {shown(function)}")
            yield name, function


def scorecard(
    functions: Any,
    op: OpName = "softmax",
    dtypes: Dtype | Collection[Dtype] = "float32",
    **arguments: Unpack[CheckArguments],
) -> ScoreCard:
    """Judges functions of several ops in several dtypes, and lists verdicts with the largest errors.

        print(softcheck.scorecard(my_softmax, dtypes=["float32", "float64"]))
        print(softcheck.scorecard({"softmax": my_softmax, "attention": [flash, naive]}, dtypes=torch.bfloat16))

    functions  one function, a list, or a dictionary from ops to one or a list; "LIB:SYMBOL" of a plug-in is one, too
    op         of functions that are not in a dictionary
    arguments  of check(), for all of them

    Returns the scores, one for each function and dtype, each with its report. Raises UsageError as check() does.
    """
    if "dtype" in arguments:
        raise UsageError("scorecard: need dtypes=, one dtype or a list, got dtype=")
    scores = []
    pairs = list(_pairs(functions, op))
    several = list(dtypes) if isinstance(dtypes, (list, tuple, set, frozenset)) else [dtypes]
    if not pairs or not several:
        raise UsageError(f"scorecard: need at least one function and one dtype, got {len(pairs)} and {len(several)}")
    titles = {id(function): function if isinstance(function, str) else name_in_its_program(function) for _, function in pairs}
    for name, function in pairs:
        title = titles[id(function)]
        alike = [key for key in titles if titles[key] == title]
        if len(alike) > 1 and not isinstance(function, str):
            title += f" ({alike.index(id(function)) + 1})"
        for dtype in several:
            start = time.monotonic()
            report = check(function, name, dtype, **arguments)
            scores.append(Score(name, dtype_of(dtype), title, report, time.monotonic() - start))
    return ScoreCard(scores)

"""The results of a judgement."""

from __future__ import annotations

import html
import pathlib
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

import numpy as np

from . import _arrays
from ._as_test import Told, as_test
from ._library import UsageError

_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def number(value: Any) -> float:
    """A number of a report. Numbers that JSON lacks are written as "NaN", "Infinity" or "-Infinity"."""
    return _NUMBERS[value] if isinstance(value, str) else float("nan") if value is None else float(value)


class Violation(AssertionError):
    """A kernel broke its contract, or the verdict is undecided. `report` has the details."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"{report.summary}\n{report.text}")
        self.report = report


@dataclass(frozen=True)
class Claim:
    """One claim about a kernel.

    slack    the largest share of a threshold that any value used: 1 is all of it; NaN for a claim without thresholds
    details  lines for a reader, if the claim fails
    """

    claim: str
    verdict: str
    cases: int
    slack: float
    details: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.verdict == "pass"


@dataclass(frozen=True)
class Counterexample:
    """The smallest call found on which a kernel fails.

    inputs  "logits", "saved" and "out_gradient", or "q", "k", "v", and "mask", as arrays of the kernel's library
    replay  the argument of check(..., replay=...) that tries the call again
    """

    property: str
    replay: str
    inputs: Mapping[str, Any]
    theta: float
    scale: float
    causal: bool
    _told: Told | None = field(default=None, repr=False, compare=False)
    _found: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def as_test(self) -> str:
        """A test in Python to paste next to the function: its arrays in the function's library, the call, and
        assert_output.

        Python reads each number back as the same one; NaN, infinities and -0.0 too. If the failure depends on more
        than the values of one call (strides, a crash, several calls), or if the arrays are too large, the test is the
        report's replay line.

        Raises UsageError for a plug-in in C: its report has a command.
        """
        if self._told is None:
            raise UsageError("as_test: need a counterexample of a Python function, got one of a plug-in's")
        return as_test(self._told, self._found)


@dataclass(frozen=True)
class Report:
    """A judgement. True if the kernel passed; print() shows the text of `softcheck kernel`.

    verdict         "pass", "fail", "crash", "timeout", "refused", "undecided" or "vacuous"
    counterexample  None if no claim failed
    data            all other data, as in libsoftcheck's JSON (softcheck.h)
    """

    verdict: str
    summary: str
    text: str
    claims: tuple[Claim, ...]
    counterexample: Counterexample | None
    data: Mapping[str, Any] = field(repr=False)
    _tolerances: Callable[..., dict[str, float]] | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.verdict == "pass"

    def __str__(self) -> str:
        return f"{self.text.rstrip()}\n{self.summary}"

    @property
    def findings(self) -> tuple[Claim, ...]:
        """The claims that fail."""
        return tuple(claim for claim in self.claims if not claim.holds)

    @property
    def slack(self) -> dict[str, float]:
        """For each claim with thresholds, the largest share of a threshold that a value used."""
        return {claim.claim: claim.slack for claim in self.claims if claim.slack == claim.slack}

    @property
    def contract(self) -> str | None:
        """The contract by which the kernel was judged; of infer() the contract found, or None."""
        return self.data.get("contract")

    @property
    def grade(self) -> str | None:
        """Of infer(): "own arithmetic" if the dtype's own arithmetic explains the results, else the weaker words that
        the kernel needs, "weights=bf16"; None if no contract was found."""
        grade = self.data.get("grade")
        if grade is None:
            return None
        return "own arithmetic" if grade["own_arithmetic"] else " ".join(grade["weaker_words"])

    def raise_for_verdict(self) -> Report:
        """Raises Violation unless the kernel passed; returns the report."""
        __tracebackhide__ = True  # pytest shows the caller's line and the report, not this function
        if not self:
            raise Violation(self)
        return self

    def suggested_tolerances(self, *inputs: Any, which: int = 0, **attributes: Any) -> dict[str, float]:
        """rtol and atol for the caller's own comparison: every value that the contract grants passes it.

            tolerances = report.suggested_tolerances(x)
            numpy.testing.assert_allclose(my_softmax(x), exact, **tolerances)

        Such a comparison checks |got - exact| <= atol + rtol |exact|, and the contract grants |got - exact| <= t of
        each element, its threshold: so t <= atol + rtol |exact| must hold for each. Among such pairs this one has the
        least mean of atol + rtol |exact| over the elements; no other has both numbers smaller. t depends on the
        inputs, so a pair is right for these inputs only. The comparison is weaker than the contract: it grants every
        element the tolerance of the elements that need most.

        inputs      of the caller's test, as reference() takes them; by default those of assert_output
        which       0 for the first result, 1 and more for the next ones
        attributes  mask, theta and other parameters, as reference() takes them

        `exact` is in float64, and so is the comparison; add the error of any other reference. Elements whose exact
        value is NaN or infinite, or for which the contract promises nothing, are left out: leave them out of the
        comparison, too.

        Raises UsageError, also for top_p_softmax: near the boundary a kernel may choose which items it keeps.
        """
        if self._tolerances is None:
            raise UsageError("suggested_tolerances: need a report of check() or assert_output(), got one of a plug-in")
        return self._tolerances(*inputs, which=which, **attributes)

    def to_junit(self, path: str | pathlib.Path | None = None) -> str:
        """The report as JUnit XML, with each claim's slack and worst ulps as properties; written to path if one is given."""
        text = self.data["junit"]
        if path is not None:
            pathlib.Path(path).write_text(text, encoding="utf-8")
        return text

    def _repr_html_(self) -> str:
        colour = "#1a7f37" if self else "#cf222e"
        picture = self.data.get("picture") or _slack_picture(self.claims)
        failing = next((f"{claim.claim}\n" + "\n".join(claim.details) for claim in self.findings if claim.details), "")
        row = f"<pre>{html.escape(failing)}</pre>" if failing and not self else ""
        return (
            f'<div><b style="color:{colour}">{html.escape(self.summary)}</b>{row}{picture}'
            f"<details><summary>report</summary><pre>{html.escape(self.text)}</pre></details></div>"
        )


def _slack_picture(claims: tuple[Claim, ...]) -> str:
    """A bar for each claim with a threshold: the share of it that was used, with a mark at 1. A failing claim without
    such a number fills its bar."""
    shown = [claim for claim in claims if claim.slack > 0 or not claim.holds]
    shown = [claim for claim in shown if claim.claim != "kernel.verdict"]
    if not shown:
        return ""
    row, left, width = 22, 260, 300
    scale = width / 1.25
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" height="{row * len(shown) + 30}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    for i, claim in enumerate(shown):
        y = 8 + row * i
        colour = "#4c78a8" if claim.holds else "#cf222e"
        measured = claim.slack == claim.slack and claim.slack != float("inf")
        length = (min(claim.slack, 1.25) if measured else 1.25) * scale
        label = f"{claim.slack:.3g}" if measured else claim.verdict
        lines.append(
            f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{html.escape(claim.claim)}</text>'
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="15" fill="{colour}"/>'
            f'<text x="{left + length + 5:.1f}" y="{y + 12}">{label}</text>'
        )
    x, bottom = left + scale, 8 + row * len(shown)
    lines.append(
        f'<line x1="{x}" y1="2" x2="{x}" y2="{bottom}" stroke="black" stroke-dasharray="3 2"/>'
        f'<text x="{x}" y="{bottom + 14}" text-anchor="middle">the threshold</text></svg>'
    )
    return "".join(lines)


def _values(tensor: Mapping[str, Any], library: str) -> Any:
    dtype = tensor["dtype"]
    values = np.array([number(v) for v in tensor["values"]], dtype=np.float64).reshape(tensor["shape"])
    if dtype == "u8":
        return _arrays.from_bits(values != 0, "bool", library)
    if dtype in ("i32", "i64"):
        return _arrays.from_bits(values.astype(np.int32 if dtype == "i32" else np.int64), dtype, library)
    if dtype == "bf16":  # exactly a bf16 number: the upper half of the f32 that has its value
        bits = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return _arrays.from_bits(bits, dtype, library)
    numbers = values.astype(_arrays.named_dtype(dtype))
    return _arrays.from_bits(numbers.view(_arrays.bits_dtype(dtype)), dtype, library)


def _counterexample(found: Mapping[str, Any] | None, library: str, told: Told | None) -> Counterexample | None:
    if found is None:
        return None
    inputs = {
        tensor["name"]: _values(tensor, library)
        for tensor in found.get("inputs") or ()
        if tensor["values"] is not None
    }
    return Counterexample(
        found["property"],
        found["replay"],
        inputs,
        found.get("theta", 1.0),
        found.get("scale", 1.0),
        found.get("causal", False),
        told,
        found,
    )


def report_of(
    data: Mapping[str, Any],
    library: str = "numpy",
    told: Told | None = None,
    tolerances: Callable[..., dict[str, float]] | None = None,
) -> Report:
    claims = tuple(
        Claim(row["claim"], row["verdict"], row["cases"], number(row["slack"]) + 0.0, tuple(row.get("details", ())))
        for row in data.get("claims", ())
    )
    return Report(
        data["verdict"] if data["verdict"] != "error" else _error_verdict(data["status"]),
        data["summary"],
        data["text"],
        claims,
        _counterexample(data.get("counterexample"), library, told),
        data,
        tolerances,
    )


def _error_verdict(status: int) -> str:
    return {4: "refused", 5: "undecided", 6: "crash", 7: "timeout"}.get(status, "undecided")

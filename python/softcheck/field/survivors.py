"""The tables of docs/kernels/survivors.md, from what `softcheck run survivors` writes and from judge/survivors/*.tsv."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from typing import Callable, Iterable, Sequence


@dataclass(frozen=True)
class Line:
    """A line of survivors.tsv: how many bugs a test, a checker or the judge accepts, how many correct kernels it rejects."""

    name: str
    kind: str
    op: str
    dtype: str
    attribute: str
    accepted: int
    bugs: int
    rejected: int
    correct: int
    within: str

    @property
    def share(self) -> float:
        return self.accepted / max(1, self.bugs)


def read_lines(path: pathlib.Path) -> tuple[list[str], list[Line]]:
    """The two lines of origin, and the others."""
    origin = [line[2:] for line in path.read_text().splitlines() if line.startswith("# ")]
    rows = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("# ")][1:]
    return origin, [Line(*row[:5], *map(int, row[5:9]), row[9]) for row in rows]  # type: ignore[arg-type]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _of(line: Line) -> str:
    return f"{line.op} {line.dtype}" + ("" if line.attribute == "-" else f", {line.attribute}")


def _results(lines: Iterable[Line]) -> Iterable[str]:
    yield "| name | of | bugs accepted | correct rejected | accepts within |"
    yield "|---|---|---|---|---|"
    for line in lines:
        bold = "**" if line.kind == "judge" else ""
        counts = f"{bold}{line.accepted}/{line.bugs}{bold} | {bold}{line.rejected}/{line.correct}{bold}"
        yield f"| {bold}{line.name}{bold} | {_of(line)} | {counts} | {_cell(line.within)} |"


def _is_plain_attention(line: Line) -> bool:
    return line.op == "attention" and line.attribute == "-"


def _is_gradient_or_loss(line: Line) -> bool:
    return line.op.endswith("_backward") or line.op.startswith("cross_entropy")


_GROUPS: tuple[tuple[str, str, Callable[[Line], bool]], ...] = (
    ("tests of softmax", "test", lambda line: line.op == "softmax"),
    ("tests of plain attention", "test", _is_plain_attention),
    ("tests of gradients and losses", "test", _is_gradient_or_loss),
    ("tools, asked about softmax", "checker", lambda line: line.op == "softmax"),
    ("tools, asked about attention", "checker", lambda line: line.op == "attention"),
)


def _summary(lines: Sequence[Line]) -> Iterable[str]:
    yield "| | | the strictest accepts | the loosest accepts |"
    yield "|---|---|---|---|"
    for name, kind, belongs in _GROUPS:
        own = sorted((line for line in lines if line.kind == kind and belongs(line)), key=lambda line: line.share)
        if own:
            ends = (f"{line.accepted} of {line.bugs} ({line.name})" for line in (own[0], own[-1]))
            yield f"| {name} | {len(own)} | {' | '.join(ends)} |"
    for line in lines:
        if line.kind == "judge":
            yield f"| softcheck | 1 | {line.accepted} of {line.bugs}; of {line.correct} correct kernels it rejects {line.rejected} | |"


def _sources(path: pathlib.Path) -> Iterable[str]:
    """Of the facts that the run is built from: their columns are those of criterion_of()."""
    rows = [line.split("\t") for line in path.read_text().splitlines() if "\t" in line]
    yield "| name | source | inputs | shapes | left out, or otherwise |"
    yield "|---|---|---|---|---|"
    for name, _op, _dtype, _attribute, _end, inputs, shapes, _within, deviation, source in rows:
        yield f"| {' | '.join(map(_cell, (name, source, inputs, shapes, '' if deviation == '-' else deviation)))} |"


def block(path: pathlib.Path, what: str) -> list[str]:
    """The lines of a page's block: origin, summary, tests or checkers of a run; sources of facts."""
    if what == "sources":
        return list(_sources(path))
    origin, lines = read_lines(path)
    if what == "origin":
        return [f"`{origin[1]}`, by {origin[0]}."]
    if what == "summary":
        return list(_summary(lines))
    kinds = {"tests": ("test",), "checkers": ("checker", "judge")}[what]
    return list(_results(line for line in lines if line.kind in kinds))


BLOCKS = ("origin", "summary", "tests", "checkers", "sources")

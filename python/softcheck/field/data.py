"""The data of docs/field: one row per kernel and dtype (NAME.tsv), the runs that made them, the programs' output."""

from __future__ import annotations

import json
import pathlib
import sys
from dataclasses import astuple, dataclass, fields
from typing import Any, Mapping, Sequence

from .._dtypes import DTYPES

# Words of a contract that are the default of each dtype (numerics/rounding/contract.hpp): a row omits them.
_DEFAULT = ("exp=1ulp", "sum=sequential", "masked=nan", "entropy=any", "lse=centred", "theta=fused")
# Words of a call that are the default: a case omits them.
_USUAL = ("theta=0x1p+0", "mask=none", "scale=0x1p+0", "batch=1", "kv=1", "group=1", "causal=0", "outputs=1", "layout=0")
_LONGEST = 110
NONE = "-"


@dataclass(frozen=True)
class Row:
    """One row of a table.

    verdict     pass; weaker (pass, but a word of the contract grants more than its accumulator needs); fail; crash;
                vacuous; undecided; "undecided in STAGE", if the budget ended in that stage
    contract    that the kernel keeps, without words that are the default; or NONE
    breaks      claims that fail in addition to the contract, such as nan_row
    not_judged  claims that a documented convention settles
    inputs      the smallest inputs on which a claim fails: "CLAIM: CASE -> GOT not EXACT", joined by " | "; under the
                contract that was tried first, or "all:" standard contracts
    """

    library: str
    op: str
    kernel: str
    dtype: str
    verdict: str
    contract: str
    breaks: str
    not_judged: str
    inputs: str

    @property
    def grade(self) -> str:
        return self.verdict.split()[0]


COLUMNS = tuple(field.name for field in fields(Row))


def read_rows(path: pathlib.Path) -> list[Row]:
    """Raises ValueError if the file is no such table."""
    header, *lines = path.read_text().splitlines() or [""]
    if header.split("\t") != list(COLUMNS):
        raise ValueError(f"{path}: need a first line of {', '.join(COLUMNS)}, got {header[:40]!r}")
    cells = [line.split("\t") for line in lines]
    for number, line in enumerate(cells, 2):
        if len(line) != len(COLUMNS):
            raise ValueError(f"{path}:{number}: need {len(COLUMNS)} cells, got {len(line)}")
    return [Row(*line) for line in cells]


def write_rows(path: pathlib.Path, rows: Sequence[Row]) -> None:
    path.write_text("".join("\t".join(line) + "\n" for line in (COLUMNS, *map(astuple, rows))))


def rows_of(sweep: Mapping[str, Any]) -> list[Row]:
    """The rows of the results that sweep.py has written."""
    return [_row(sweep["library"], kernel) for kernel in sweep["kernels"]]


def rows_for(path: pathlib.Path, sweeps: Sequence[Mapping[str, Any]], ops: Sequence[str]) -> list[Row]:
    """The rows of a table: its own kernels, and kernels of these ops (of all ops, if none is given) that no other
    table has."""

    def kernels(table: pathlib.Path) -> set[tuple[str, str]]:
        return {(row.library, row.kernel) for row in read_rows(table)}

    own = kernels(path) if path.exists() else set()
    others = {kernel for table in path.parent.glob("*.tsv") if table != path for kernel in kernels(table)} - own
    rows = [row for sweep in sweeps for row in rows_of(sweep) if (row.library, row.kernel) not in others]
    return [row for row in rows if (row.library, row.kernel) in own or not ops or row.op in ops]


def contracts_in(paths: Sequence[pathlib.Path]) -> dict[tuple[str, str, str], str] | None:
    """The contracts that kernels keep, by library, kernel and dtype; None without a file."""
    rows = [row for path in paths for row in read_rows(path) if row.grade in ("pass", "weaker") and row.contract != NONE]
    return {(row.library, row.kernel, row.dtype): row.contract for row in rows} if paths else None


def read_json(path: pathlib.Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def write_json(path: pathlib.Path, entries: Mapping[str, Any]) -> None:
    """An entry a line."""
    lines = (f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}" for name, entry in sorted(entries.items()))
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _row(library: str, kernel: Mapping[str, Any]) -> Row:
    broken = {finding["claim"] for finding in kernel["findings"]}
    verdict = f"undecided in {kernel['ended']}" if kernel.get("ended") else kernel["verdict"]
    return Row(
        library,
        kernel["op"],
        kernel["kernel"],
        kernel["dtype"],
        "weaker" if verdict == "pass" and kernel["weak"] else verdict,
        _words(kernel),
        " ".join(sorted(claim.removeprefix("kernel.") for claim in kernel["exempt"] if claim in broken)),
        " ".join(claim.removeprefix("kernel.") for claim in kernel["exempt"] if claim not in broken),
        _inputs(kernel),
    )


def _words(kernel: Mapping[str, Any]) -> str:
    if kernel["contract"] is None:
        return NONE
    words = kernel["contract"].split()
    if "kernel.masked_row" in kernel["exempt"]:
        words = [word for word in words if not word.startswith("masked=")]
    return without_defaults(words, kernel["dtype"])


def without_defaults(words: Sequence[str], dtype: str) -> str:
    accumulator = "acc=f64" if dtype == "float64" else "acc=f32"
    default = (*_DEFAULT, accumulator, "subnormal=flushed" if dtype == "float32" else "subnormal=kept")
    return " ".join(word for word in words if word not in default) or accumulator


def _inputs(kernel: Mapping[str, Any]) -> str:
    shown: list[str] = []
    for finding in kernel["findings"]:
        if any("shrank to one of another claim" in line for line in finding["details"]):  # that claim has the input
            continue
        claim = finding["claim"].removeprefix("kernel.").removeprefix(f"{kernel['op']}.")
        exact = f" not {_number(finding['expected'][0])}" if finding.get("expected") else ""
        text = f"{claim}: {case(finding['case'], kernel['dtype'])} -> {_got(finding)}{exact}"
        if finding.get("narrow"):
            shown = [other for other in shown if other != text]
            text = f"all: {text}"
        shown.append(text)
    return " | ".join(shown)


def case(text: str | None, dtype: str) -> str:
    """The case without the row's dtype and the default words, cut if it is long."""
    left = [word for word in (text or NONE).split() if word not in (*_USUAL, DTYPES[dtype])]
    words = " ".join(left)
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."


def _number(value: Any) -> str:
    if isinstance(value, str):
        return {"Infinity": "inf", "-Infinity": "-inf"}.get(value, value)
    if value is None:
        return NONE
    return "0" if abs(value) < sys.float_info.min * sys.float_info.epsilon * 2 else f"{value:.9g}"  # an end of 0's enclosure


def _got(finding: Mapping[str, Any]) -> str:
    """The value; infinities, which JSON lacks, are read from the details."""
    if finding.get("got") is not None:
        return _number(finding["got"])
    return next((line.split()[1] for line in finding["details"] if line.strip().startswith("got ")), NONE)

"""The pages of docs/ from the data and the programs of docs/field/. A page there has a program under each heading.

A page is written by hand except for its blocks: "<!-- generated from field/NAME.tsv: WHAT -->" to "<!-- end -->",
where WHAT is run, verdicts or findings; for kernels/survivors.tsv and judge/survivors/ what survivors.py writes; or
"<!-- generated from softcheck.describe(): TABLE -->", where TABLE may be the ops of a page.
"""

from __future__ import annotations

import ast
import collections
import math
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Iterable, Sequence

from .._library import describe
from .._ops import OPS
from . import data, survivors

CLASSES = ("wrong", "within a weaker contract", "convention")
NOT_RUN = "could not be run"
GRADES = ("pass", "weaker", "fail", "crash", "vacuous", "undecided")
_PROGRAM = re.compile(r"^## (\w+)\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])-?(?:inf|nan|\d+\.?\d*(?:e[-+]?\d+)?)(?![\w])")
_BLOCK = re.compile(r"(?<=<!-- generated from )(\S+): ([\w ]+?)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Reproduction:
    """A program of a page of docs/field/ that shows a finding without softcheck."""

    page: pathlib.Path
    name: str
    text: str
    library: str
    version: str
    claim: str
    kind: str
    kernels: tuple[str, ...]


def read_reproductions(page: pathlib.Path) -> list[Reproduction]:
    """The programs of a page, each with the parts of its docstring: "LIBRARY VERSION: claim", then lines "class: ..." and
    "kernels: A, B".

    Raises ValueError if a part is missing.
    """
    return [_reproduction(page, *program.groups()) for program in _PROGRAM.finditer(page.read_text())]


def _reproduction(page: pathlib.Path, heading: str, program: str) -> Reproduction:
    text = ast.get_docstring(ast.parse(program))
    if not text:
        raise ValueError(f"{page}: {heading}: need a docstring")
    first = text.splitlines()[0]
    fields = dict(line.split(": ", 1) for line in text.splitlines()[1:] if line.startswith(("class: ", "kernels: ")))
    name, _, claim = first.partition(": ")
    library, _, version = name.partition(" ")
    if not claim or not version or fields.get("class") not in CLASSES or "kernels" not in fields:
        raise ValueError(f"{page}: {heading}: need 'LIBRARY VERSION: claim', 'class: {' / '.join(CLASSES)}' and 'kernels: ...'")
    return Reproduction(page, heading, program, library, version, claim, fields["class"], tuple(fields["kernels"].split("; ")))


def reproduce(program: Reproduction, limit: float = 120) -> list[str] | str:
    """The lines "input | got | exact" that the program prints, or the reason why it prints none. Exit code 0: the
    bug is there."""
    with tempfile.TemporaryDirectory() as folder:
        for each in read_reproductions(program.page):  # one may import another of its page
            pathlib.Path(folder, f"{each.name}.py").write_text(each.text)
        path = pathlib.Path(folder, f"{program.name}.py")
        try:
            ended = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return NOT_RUN
    if ended.returncode != 0:
        return NOT_RUN if "Traceback" in ended.stderr else "not there in the version that is installed"
    return [line for line in ended.stdout.splitlines() if line.count(" | ") == 2] or "prints nothing to compare"


def reproductions_in(folder: pathlib.Path) -> list[Reproduction]:
    return sorted((program for page in folder.glob("*.md") for program in read_reproductions(page)), key=lambda program: program.name)


def findings_of(path: pathlib.Path) -> list[Reproduction]:
    """The programs in a table's folder that name one of its kernels, in the version of its run; by class."""
    versions = data.read_json(path.parent / "runs.json")[path.stem]["libraries"]
    kernels = {(row.library, f"{row.kernel} {row.dtype}") for row in data.read_rows(path)}

    def shown(program: Reproduction) -> bool:
        names = {(program.library, name) for name in program.kernels}
        return bool(names & kernels) and versions[program.library].startswith(program.version)

    return sorted(filter(shown, reproductions_in(path.parent)), key=lambda program: CLASSES.index(program.kind))


def renewed(page: pathlib.Path) -> str:
    """The page with its blocks generated again."""
    text = page.read_text()
    listed = {block[1] for block in _BLOCK.finditer(text) if block[2] == "findings"}

    def made(block: re.Match[str]) -> str:
        path = page.parent / block[1]
        if block[1] == "softcheck.describe()":
            table, *names = block[2].split()
            rows = describe()[table]
            lines = list(_described([_op(row) for name in names for row in rows if row["name"] == name] if names else rows))
        elif block[2] in survivors.BLOCKS:
            lines = survivors.block(path, block[2])
        elif block[2] == "findings":
            lines = list(_findings(path, block[1]))
        elif block[2] == "verdicts":
            lines = _verdicts(data.read_rows(path), path, findings_of(path) if block[1] in listed else [])
        else:
            lines = _run(path, block[1])
        return f"{block[1]}: {block[2]}{block[3]}" + "\n".join(lines) + "\n"

    return _BLOCK.sub(made, text)


def pages_in(folder: pathlib.Path) -> list[pathlib.Path]:
    return [page for page in sorted(folder.rglob("*.md")) if _BLOCK.search(page.read_text())]


def _op(table: dict[str, Any]) -> dict[str, str]:
    """An op's row on its page."""
    inputs = [f"[{tensor['role']}]" if tensor["optional"] else tensor["role"] for tensor in table["inputs"]]
    calls = [name.replace("_", " ") for name in ("mask", "theta", "attributes", "packed", "pages", "in_place") if table[name]]
    claims = ", ".join(f"`{claim}`" for claim in table["claims"])
    cells = (f"`{table['name']}`", ", ".join(inputs), ", ".join(table["outputs"]), claims, ", ".join(calls))
    return dict(zip(("op", "inputs", "outputs", "claims", "calls may have"), cells))


def _described(rows: Sequence[dict[str, Any]]) -> Iterable[str]:
    yield f"| {' | '.join(rows[0])} |"
    yield "|---" * len(rows[0]) + "|"
    for row in rows:
        cells = (f"`{cell}`" if name in ("word", "values") else str(cell) for name, cell in row.items())
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _run(path: pathlib.Path, name: str) -> list[str]:
    run = data.read_json(path.parent / "runs.json")[path.stem]
    cells = {**run, "libraries": "", "command": f"`{run['command']}`", "data": f"[{name}]({name})"}
    return ["| | |", "|---|---|", *(f"| {key} | {cell} |" for key, cell in cells.items() if cell)]


def _verdicts(rows: Sequence[data.Row], path: pathlib.Path, findings: Sequence[Reproduction]) -> list[str]:
    versions = data.read_json(path.parent / "runs.json")[path.stem]["libraries"]
    ops = [op for op in OPS if any(row.op == op for row in rows)]
    head = ["library", *ops, *(["findings"] if findings else [])]
    lines = [f"{len(rows)} pairs of kernel and dtype: {_grades(rows)}.", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for library in dict.fromkeys(row.library for row in rows):
        own = [row for row in rows if row.library == library]
        cells = [f"{library} {versions[library]}", *(_grades(row for row in own if row.op == op) for op in ops)]
        numbers = [n for n, program in enumerate(findings, 1) if program.library == library]
        lines.append(f"| {' | '.join([*cells, *([', '.join(f'[{n}](#{n})' for n in numbers)] if findings else [])])} |")
    return lines


def _grades(rows: Iterable[data.Row]) -> str:
    counts = collections.Counter(row.grade for row in rows)
    return ", ".join(f"{counts[grade]} {grade}" for grade in GRADES if counts[grade])


def _findings(path: pathlib.Path, name: str) -> Iterable[str]:
    outputs = data.read_json(path.parent / "findings.json")
    folder, number = pathlib.PurePosixPath(name).parent, 0
    programs = findings_of(path)
    for kind in CLASSES:
        own = [program for program in programs if program.kind == kind]
        if own:
            yield from (f"### {kind[0].upper()}{kind[1:]}: {len(own)}", "")
        for program in own:
            number += 1
            yield f'<a id="{number}"></a>**{number}. {program.library} {program.version}**: {program.claim}'
            yield f"[Program]({folder / program.page.name}#{program.name}): {_output(outputs[program.name])}"
            yield ""


def _output(output: Sequence[str] | str) -> str:
    """The line with the largest error; findings.json has the others."""
    if isinstance(output, str):
        return f"*{output}*."
    what, got, exact = (cell.strip() for cell in max(output, key=_error).split(" | "))
    return f"`{what}` is {got}, exact {exact}"


def _error(line: str) -> float:
    """The largest relative error of a number in the output, absolute if the exact number is 0; infinite if only one of
    the two is finite."""
    _, got, exact = ([float(text) for text in _NUMBER.findall(cell)] for cell in line.split(" | "))
    pairs = [(g, e) for g, e in zip(got, exact) if g != e and not (math.isnan(g) and math.isnan(e))]
    return max((abs(g - e) / (abs(e) or 1) if math.isfinite(g) and math.isfinite(e) else math.inf for g, e in pairs), default=0)

"""docs/field.md from what sweep.py has written and from the reproductions in docs/field/."""

from __future__ import annotations

import ast
import datetime
import pathlib
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Sequence

CLASSES = ("wrong", "within a weaker contract", "convention")
# Words of a contract that are the default, or have no part in the op, and say nothing to a reader of the table.
_SILENT = ("entropy=any", "lse=centred", "theta=fused")


@dataclass(frozen=True)
class Reproduction:
    """A program of docs/field/ that shows a finding without softcheck.

    lines  of three cells, "input | got | exact", as it printed them
    there  whether it found the bug in the library that is installed; None where it could not be run
    """

    path: pathlib.Path
    library: str
    version: str
    claim: str
    kind: str
    kernels: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...] = ()
    there: bool | None = None


def read_reproduction(path: pathlib.Path) -> Reproduction:
    """What the docstring says: "LIBRARY VERSION: claim", then lines "class: ..." and "kernels: A, B".

    Raises ValueError for one that says less.
    """
    text = ast.get_docstring(ast.parse(path.read_text()))
    if not text:
        raise ValueError(f"{path}: need a docstring")
    first = text.splitlines()[0]
    fields = dict(line.split(": ", 1) for line in text.splitlines()[1:] if line.startswith(("class: ", "kernels: ")))
    name, _, claim = first.partition(": ")
    library, _, version = name.partition(" ")
    if not claim or not version or fields.get("class") not in CLASSES or "kernels" not in fields:
        raise ValueError(f"{path}: need 'LIBRARY VERSION: claim', 'class: {' / '.join(CLASSES)}' and 'kernels: ...'")
    return Reproduction(path, library, version, claim, fields["class"], tuple(fields["kernels"].split("; ")))


def reproduce(path: pathlib.Path, limit: float = 120) -> Reproduction:
    """Runs it: exit code 0 says that the bug is there."""
    known = read_reproduction(path)
    try:
        ended = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return known
    lines = tuple(tuple(cell.strip() for cell in line.split(" | ")) for line in ended.stdout.splitlines())
    lines = tuple(line for line in lines if len(line) == 3)
    there = None if "Traceback" in ended.stderr else ended.returncode == 0
    return Reproduction(*[getattr(known, name) for name in Reproduction.__annotations__][:6], lines, there)


def _words(contract: str | None, kernel: Mapping[str, Any]) -> str:
    if contract is None:
        return "not known" if kernel.get("ended") else "none that is standard"
    silent = [word for word in contract.split() if word in _SILENT]
    if "kernel.masked_row" in kernel["exempt"]:
        silent += [word for word in contract.split() if word.startswith("masked=")]
    return f"`{' '.join(word for word in contract.split() if word not in silent)}`"


def _input(case: str | None) -> str:
    if not case:
        return "-"
    text = case.replace("theta=0x1p+0 ", "").replace("mask=none ", "")
    return f"`{text if len(text) <= 110 else text[:107] + '...'}`".replace("|", "\\|")


def _number(value: Any) -> str:
    if isinstance(value, str):
        return {"Infinity": "inf", "-Infinity": "-inf"}.get(value, value)
    return "-" if value is None else f"{value:.9g}"


def _got(finding: Mapping[str, Any]) -> str:
    """JSON has no infinities: those stand in the details."""
    if finding.get("got") is not None:
        return _number(finding["got"])
    return next((line.split()[1] for line in finding["details"] if line.strip().startswith("got ")), "-")


def _findings_of(kernel: Mapping[str, Any]) -> list[str]:
    lines = []
    for finding in kernel["findings"]:
        if any("shrank to one of another claim" in line for line in finding["details"]):  # no input of its own: that row has it
            continue
        exact = _number(finding["expected"][0]) if finding.get("expected") else "-"
        under = "every standard contract" if finding.get("narrow") else _words(finding["contract"], kernel)
        lines.append(
            f"| {kernel['kernel']} | {kernel['dtype']} | {finding['claim'].removeprefix('kernel.')} | {under} | "
            f"{_input(finding['case'])} | {_got(finding)} | {exact} |"
        )
    return lines


def _verdict(kernel: Mapping[str, Any], reproductions: Sequence[Reproduction], library: str) -> str:
    own = f"{kernel['kernel']} {kernel['dtype']}"
    numbers = [str(i + 1) for i, r in enumerate(reproductions) if r.library == library and own in r.kernels]
    see = f" ({', '.join(f'[{n}](#{n})' for n in numbers)})" if numbers else ""
    word = kernel["verdict"]
    if kernel.get("ended"):
        word = f"undecided: the budget ended in {kernel['ended']}"
    if word == "pass" and kernel["weak"]:
        word = "pass, weaker contract"
    if word == "pass" and kernel["findings"]:
        word = f"pass but for {', '.join(sorted({f['claim'].removeprefix('kernel.') for f in kernel['findings']}))}"
    broken = {finding["claim"] for finding in kernel["findings"]}
    unjudged = [claim.removeprefix("kernel.") for claim in kernel["exempt"] if claim not in broken]
    return word + see + (f"; not judged: {', '.join(unjudged)}" if unjudged else "")


def of_ops(
    sweeps: Sequence[Mapping[str, Any]], reproductions: Sequence[Reproduction], ops: Sequence[str]
) -> tuple[list[dict[str, Any]], list[Reproduction]]:
    """What a page of these ops has. A reproduction that names no kernel of any sweep stays: it would be on no page."""
    kept = [{**sweep, "kernels": [kernel for kernel in sweep["kernels"] if kernel["op"] in ops]} for sweep in sweeps]

    def names(there: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
        return {(sweep["library"], f"{kernel['kernel']} {kernel['dtype']}") for sweep in there for kernel in sweep["kernels"]}

    here, all_of_them = names(kept), names(sweeps)
    shown = [r for r in reproductions if {(r.library, k) for k in r.kernels} & here or not {(r.library, k) for k in r.kernels} & all_of_them]
    return [sweep for sweep in kept if sweep["kernels"]], shown


def render(
    sweeps: Sequence[Mapping[str, Any]],
    reproductions: Sequence[Reproduction],
    command: str,
    commit: str,
    remark: str = "",
    title: str = "Softmax and attention in the field",
) -> str:
    """The page. A reproduction that does not show its bug in this version of the library is listed as such, not left out."""
    order = [r for kind in CLASSES for r in reproductions if r.kind == kind]
    lines = [
        f"# {title}",
        "",
        "For users of the libraries below and for their authors: which of their kernels keep to which contract, and where one",
        "returns a wrong value. Made by the command below; each finding is shown by a program of ten to fifty lines that does not",
        "use softcheck ([docs/field/](field)). How a verdict comes about: [judging.md](kernels/judging.md). libggml is ggml,",
        "of PyPI's libggml-python; ai_edge_litert is LiteRT; onednn is PyPI's, built for SYCL. Not judged: attention of oneDNN and",
        "LiteRT, and their quantised types.",
        "",
        "| | |",
        "|---|---|",
        f"| date | {datetime.date.today():%-d %B %Y} |",
        f"| machine | {_processor()}, one thread a library, Python {platform.python_version()} |",
        _libraries(sweeps),
        f"| softcheck | {commit} |",
        f"| command | `{command}` |",
        *([f"| remark | {remark} |"] if remark else []),
        "",
        _summary(sweeps, order),
        "",
        "## Findings",
        "",
        "*Wrong*: no contract excuses it: an infinity, a NaN or a zero where the exact value is a plain number, a NaN that is lost,",
        "a crash. *Within a weaker contract*: less accurate than float32 arithmetic rounded once, as a kernel is that stores its sum",
        "in 16 bits; softcheck has words for most of it. *Convention*: documented, or a choice that the definition leaves open.",
        "The exact values are mpmath's.",
        "",
    ]
    for kind in CLASSES:
        lines += [f"### {kind[0].upper()}{kind[1:]}", ""]
        for i, finding in enumerate(order):
            if finding.kind == kind:
                lines += _told(i + 1, finding)
    lines += [
        "## Kernels",
        "",
        "*pass*: the judge found no row on which the kernel breaks that contract, which is one that softcheck.infer found or the",
        "first of a fixed list that holds. *fail*: it breaks every standard contract that says something; 16-bit kernels that round",
        "their sums to 16 bits are among these where no word of a contract says what they store. *undecided*: the budget of the pair",
        "ended in inference, or in a check by a contract. Numbers lead to the findings. A value that only a list of smallest inputs has, without a finding, is no accusation:",
        "it shows which contract does not hold. The words are those of [judging.md](kernels/judging.md#from-a-contract-to-thresholds).",
        "",
    ]
    for sweep in sweeps:
        lines += _library_table(sweep, order)
    return "\n".join(lines).rstrip() + "\n"


def _libraries(sweeps: Sequence[Mapping[str, Any]]) -> str:
    return "| libraries | " + ", ".join(f"{sweep['library']} {sweep['version']}" for sweep in sweeps) + " |"


def _summary(sweeps: Sequence[Mapping[str, Any]], order: Sequence[Reproduction]) -> str:
    kernels = [kernel for sweep in sweeps for kernel in sweep["kernels"]]
    passed = sum(k["verdict"] == "pass" and not k["weak"] for k in kernels)
    weak = sum(k["verdict"] == "pass" and bool(k["weak"]) for k in kernels)
    undecided = sum(k["verdict"] in ("undecided", "vacuous") for k in kernels)
    counts = ", ".join(f"{sum(r.kind == kind for r in order)} {kind}" for kind in CLASSES)
    return (
        f"{len(kernels)} pairs of kernel and dtype: {passed} keep to a contract of their accumulator, {weak} to a weaker one,\n"
        f"{len(kernels) - passed - weak - undecided} to none that is standard, {undecided} were not decided within the budget. "
        f"{len(order)} findings: {counts}."
    )


def _told(number: int, finding: Reproduction) -> list[str]:
    lines = [
        f'<a id="{number}"></a>**{number}. {finding.library} {finding.version}**: {finding.claim} '
        f"[{finding.path.name}](field/{finding.path.name})"
        + {True: "", False: " *Not there in the version that is installed.*", None: " *Could not be run.*"}[finding.there],
        "",
    ]
    if finding.lines:
        lines += ["| input | got | exact |", "|---|---|---|"]
        lines += [f"| `{what}` | {got} | {exact} |" for what, got, exact in finding.lines]
        lines.append("")
    return lines


def _library_table(sweep: Mapping[str, Any], order: Sequence[Reproduction]) -> list[str]:
    lines = [f"### {sweep['library']} {sweep['version']}", "", "| kernel | dtype | contract that it keeps to | verdict |", "|---|---|---|---|"]
    notes: dict[str, str] = {}
    links: dict[str, str] = {}
    found: list[str] = []
    for kernel in sweep["kernels"]:
        links[kernel["kernel"]] = kernel["link"]
        if kernel["notes"]:
            notes[kernel["kernel"]] = kernel["notes"]
        lines.append(
            f"| [{kernel['kernel']}]({kernel['link']}) | {kernel['dtype']} | {_words(kernel['contract'], kernel)} | "
            f"{_verdict(kernel, order, sweep['library'])} |"
        )
        found += _findings_of(kernel)
    lines.append("")
    for note in sorted(set(notes.values())):
        own = [name for name, text in notes.items() if text == note]
        lines += [f"{', '.join(own)}: {note}.", ""]
    if found:
        lines += [
            "The smallest inputs on which a claim does not hold under a contract:",
            "",
            "| kernel | dtype | claim | under | input | got | exact |",
            "|---|---|---|---|---|---|---|",
            *found,
            "",
        ]
    return lines


def _processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {name.strip(): value.strip() for name, value in values.items()}
    features = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in fields.get("flags", "").split()]
    return f"{fields.get('model name', platform.machine())}, {' '.join(features)}"


def contracts_in(pages: Sequence[pathlib.Path]) -> dict[tuple[str, str, str], str] | None:
    """The contracts in pages of render(), by library, kernel and dtype; None of no page."""
    if not pages:
        return None
    contracts: dict[tuple[str, str, str], str] = {}
    for page in pages:
        library = ""
        for line in page.read_text().splitlines():
            if heading := re.fullmatch(r"### (\S+) \d\S*", line):
                library = heading[1]
            elif row := re.fullmatch(r"\| \[(.+?)\]\(\S+\) \| (\w+) \| `([^`]+)` \| pass.*\|", line):
                contracts[library, row[1], row[2]] = row[3]
    return contracts


def reproductions_in(folder: pathlib.Path) -> Iterable[Reproduction]:
    return (reproduce(path) for path in sorted(folder.glob("*.py")))

"""python -m softcheck.grade FOLDER: judges every module of a folder of kernels, as KernelBench, TritonBench and
BackendBench have them, each in a process of its own with a time limit.

A module is a function or class at the top level of a file. Its op is what its name says (my_softmax, SoftmaxTriton,
softmax_kernel_impl), or a comment directly above it: "# op: softmax". For KernelBench's Model and ModelNew the name of
the file says it (23_Softmax.py), or such a comment anywhere in the file. "# dtype:", "# domain:" and "# contract:" beside
it are arguments of check(). A file without a module of a known op is listed as such, and so are a file's functions whose
op is not known beside those that are judged.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterable

from ._check import check
from ._library import CRASHED, FAIL, PASS, REFUSED, TIMED_OUT, UNDECIDED, USAGE, Interruptions, UsageError
from ._modules import ALSO, Module, in_folder, load
from ._ops import OPS

UNKNOWN, NOT_JUDGED, WRONG = "op not known", "not judged", "error"
# The most serious first: the exit code is that of the first verdict that some module has.
EXIT_CODES = {
    "fail": FAIL,
    "crash": CRASHED,
    "timeout": TIMED_OUT,
    WRONG: USAGE,
    "refused": REFUSED,
    "vacuous": UNDECIDED,
    "undecided": UNDECIDED,
    NOT_JUDGED: UNDECIDED,
}
_COLUMNS = ("name", "verdict", "seconds", "cause")
# Share of the time limit; the rest is for imports, and for the process to end by itself.
_SHARE = 0.8
_CAUSE = 160
_END = 50  # of a longer cause: the end has the value that was got


@dataclass(frozen=True)
class Row:
    """One module's line of the table. seconds includes the start of its process."""

    name: str
    verdict: str
    cause: str = ""
    seconds: float = 0.0


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _CAUSE else f"{text[: _CAUSE - _END - 5]} ... {text[-_END:]}"


def _cause(report: Any, op: str) -> str:
    """The cause of the most serious failing claim, from its first case: the named cause, the exception, or the
    values."""
    # For a wrong value it is the op's own claim: claims on rows with NaN and the like come later.
    findings = sorted(report.findings, key=lambda finding: report.verdict == "fail" and not finding.claim.startswith(f"kernel.{op}."))
    if not findings:
        return "" if report else str(report.summary)
    lines = [line.strip(" |") for line in findings[0].details]
    first = next((i for i, line in enumerate(lines) if line.startswith("replay:")), len(lines))
    named = [line[len("cause: ") :] for line in lines[:first] if line.startswith("cause: ")]
    raised = [line for line in lines[:first] if re.match(r"[\w.]*(Error|Exception|SystemExit|KeyboardInterrupt)\b", line)]
    returned = [line[len("softcheck: ") :] for line in lines[:first] if line.startswith("softcheck: the function's result")]
    values = ", ".join(line for line in lines[:first] if re.match(r"(expected|got|error) ", line))
    values += " of an input with NaN" if values and findings[0].claim == "kernel.nan_row" else ""
    ended = [line for line in lines[:first] if line.startswith("ended by ")]
    ended = [re.sub(r"ended by no answer within ([\d.e+]+) s", r"a call did not return within \1 s", line) for line in ended]
    return f"{findings[0].claim}: {next(filter(None, [*named, *raised, *returned, values, *ended, *lines]), report.summary)}"


def _judge_here(words: dict[str, Any]) -> dict[str, str]:
    """In the module's own process: its verdict and cause."""
    start = time.monotonic()
    try:
        loaded = load(pathlib.Path(words["file"]), words["name"], words["op"])
    except ModuleNotFoundError as error:
        return {"verdict": NOT_JUDGED, "cause": f"needs {error.name}, which is not installed"}
    except Exception as error:  # noqa: BLE001: whatever the file's code raises
        return {"verdict": "crash", "cause": f"{type(error).__name__}: {error}"}
    told, device = words["told"], words["device"]
    on_device = device is not None and not device.startswith("cpu")
    budget = words["time_limit"] * _SHARE
    # The result of a row without a visible item is a convention, which no file states.
    reports = []
    contracts = [told["contract"]] if "contract" in told else [None, "masked=zero", "masked=uniform"]
    try:
        for contract in contracts:
            report = check(
                loaded.function,
                words["op"],
                told.get("dtype") or words["dtype"] or loaded.dtype or "float32",
                arrays=loaded.arrays,
                takes=loaded.takes,
                domain=told.get("domain") or words["domain"],
                contract=contract,
                device=device,
                effort=words["effort"],
                budget=max(1.0, budget - (time.monotonic() - start)),
                time_limit=min(10.0, budget / 2),  # for one call, so that an endless call is found
                # This process serves the module alone: a driver of a GPU may not be forked.
                isolation="none" if on_device else "auto",
                progress=False,
            )
            reports.append(report)
            if "kernel.masked_row" not in [finding.claim for finding in report.findings]:
                break
        else:
            report = reports[0]
    except UsageError as error:
        return {"verdict": WRONG, "cause": str(error)}
    return {"verdict": report.verdict, "cause": _cause(report, words["op"])}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and the processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def judge(module: Module, name: str, words: dict[str, Any], interrupted: Callable[[], bool]) -> Row:
    """Judges a module in its own process, and ends all processes of it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="softcheck-grade-") as folder:
        answer = pathlib.Path(folder, "answer.json")
        asked = {"file": str(module.file), "name": module.name, "op": module.op, "told": module.told, "answer": str(answer), **words}
        with open(pathlib.Path(folder, "printed"), "w+b") as printed:
            process = subprocess.Popen(
                [sys.executable, "-m", "softcheck.grade", "--module", json.dumps(asked)],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches this process only, and the module's children end with it
            )
            while process.returncode is None and time.monotonic() < start + words["time_limit"] and not interrupted():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.1)
            code = process.returncode
            _end(process)
            if answer.exists():
                found = json.loads(answer.read_text())
            elif code is not None:
                found = {"verdict": "crash", "cause": _died(code, printed)}
            elif interrupted():
                found = {"verdict": NOT_JUDGED, "cause": "Ctrl-C"}
            else:
                found = {"verdict": "timeout", "cause": f"no verdict within {words['time_limit']:g} s"}
    return Row(name, found["verdict"], _one_line(found["cause"]), time.monotonic() - start)


def _died(code: int, printed: Any) -> str:
    printed.seek(0)
    last = printed.read()[-4096:].decode(errors="replace").strip().splitlines()[-1:]
    how = signal.Signals(-code).name if code < 0 else f"exit({code})"
    return "; ".join([f"its process ended: {how}", *last])


def write(rows: Iterable[Row], file: pathlib.Path) -> None:
    """Writes the table as text, one row a line, with tabs between columns."""
    lines = ["\t".join(_COLUMNS)] + [f"{row.name}\t{row.verdict}\t{row.seconds:.1f}\t{row.cause}" for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _summary(rows: list[Row]) -> str:
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in ("pass", *EXIT_CODES)}
    words = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    lists = [row for row in rows if row.verdict == UNKNOWN]
    unknown = sum(not row.cause.startswith(ALSO) for row in lists)
    behind = f"; {unknown} {'file' if unknown == 1 else 'files'} whose op is not known" if unknown else ""
    judged = len(rows) - len(lists)
    return f"{judged} {'module' if judged == 1 else 'modules'}: {', '.join(words) or 'nothing to judge'}{behind}"


def _refusal(modules: list[Module], effort: str, dtype: str | None, domain: str | None) -> str:
    """The reason why no op of these modules can be judged by these words, or "": it tries one call of each op."""
    why = ""
    for op in dict.fromkeys(module.op for module in modules if module.op is not None):
        takes = ("k",) if OPS[op].chooses else ()
        words: dict[str, Any] = {"effort": effort, "domain": domain, "isolation": "none", "max_calls": 1, "progress": False}
        try:
            check(lambda *_, **__: None, op, dtype or "float32", takes=takes, **words)
            return ""
        except UsageError as error:
            why = why or str(error)
    return why


def grade(folder: pathlib.Path, modules: list[Module], out: pathlib.Path, **words: Any) -> list[Row]:
    """Judges the modules of a folder. It prints a line for each finished module and then writes the table again, so
    that results are never lost. After Ctrl-C the remaining modules are listed as not judged."""
    names = [":".join(filter(None, (str(module.file.relative_to(folder)), module.name))) for module in modules]
    width = max(map(len, names), default=0)
    rows: list[Row] = []
    with Interruptions() as interrupted:
        for module, name in zip(modules, names):
            if module.op is None:
                row = Row(name, WRONG if module.name else UNKNOWN, _one_line(module.why))
            elif interrupted():
                row = Row(name, NOT_JUDGED, "Ctrl-C")
            else:
                row = judge(module, name, words, interrupted)
            rows.append(row)
            print(f"{row.name:{width}}  {row.verdict:12}  {row.seconds:6.1f} s  {row.cause}".rstrip(), flush=True)
            write(rows, out)
    print(f"{_summary(rows)}. Written to {out}")
    return rows


def main() -> int:
    codes = "; ".join(f"{code} {', '.join(v for v, c in EXIT_CODES.items() if c == code)}" for code in dict.fromkeys(EXIT_CODES.values()))
    epilog = f"The exit code is that of the gravest verdict: {codes}; else 0. It is {USAGE} too where there is nothing to judge."
    parser = argparse.ArgumentParser(prog="python -m softcheck.grade", description=(__doc__ or "").partition(": ")[2], epilog=epilog)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("grade.tsv"), help="the table as a file (grade.tsv)")
    parser.add_argument("--time-limit", type=float, default=120, metavar="S", help="seconds for a module (120)")
    parser.add_argument("--effort", default="quick", help="quick, default or deep (quick)")
    parser.add_argument("--dtype", help="of modules that do not say theirs; by default get_inputs()'s, else float32")
    parser.add_argument("--domain", help="of modules that do not say theirs: compact where all arrays are contiguous")
    parser.add_argument("--device", help="where torch's arrays lie, cuda")
    parser.add_argument("--module", help=argparse.SUPPRESS)
    given = vars(parser.parse_args())
    if given["module"] is not None:
        words = json.loads(given["module"])
        written = pathlib.Path(words["answer"] + ".part")
        written.write_text(json.dumps(_judge_here(words)))
        written.rename(words["answer"])
        return PASS
    del given["module"]
    if given["folder"] is None or not given["folder"].is_dir():
        parser.error(f"folder: need a folder of Python files, got {given['folder']}")
    if not given["time_limit"] > 0:
        parser.error(f"--time-limit: need a number > 0, got {given['time_limit']:g}")
    modules = list(in_folder(given["folder"]))
    if not modules:
        parser.error(f"folder: need one that holds a module, got {given['folder']} without a Python file")
    if why := _refusal(modules, given["effort"], given["dtype"], given["domain"]):
        parser.error(why.removeprefix("softcheck: "))
    try:
        write([], given["out"])
    except OSError as error:
        parser.error(f"--out: need a file that can be written, got {given['out']}: {error.strerror}")
    verdicts = {row.verdict for row in grade(modules=modules, **given)}
    return next((code for verdict, code in EXIT_CODES.items() if verdict in verdicts), USAGE if verdicts == {UNKNOWN} else PASS)


if __name__ == "__main__":
    sys.exit(main())

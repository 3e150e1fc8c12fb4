"""python -m softcheck.functions MODULE:FUNCTION=OP...: judges functions of Python from a command line, as check() does, one
after the other. The working folder is searched for modules first. The exit code is that of the gravest verdict, as of
softcheck.grade."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import pathlib
import re
import sys
from typing import Any, Callable

from ._arrays import LIBRARIES
from ._check import check
from ._library import PASS, USAGE, UsageError
from .grade import EXIT_CODES
from .report import Report

_SPEC = re.compile(r"([\w.]+):([\w.]+)=(\w+)")


def _library(module: Any) -> str | None:
    """The library of arrays that a module imports something of; none says numpy."""
    names = {str(getattr(value, "__name__" if inspect.ismodule(value) else "__module__", "")).split(".")[0] for value in vars(module).values()}
    return next((library for library in LIBRARIES if library != "numpy" and library in names), None)


def _function(module: str, name: str) -> tuple[Callable[..., Any], str | None]:
    try:
        found: Any = importlib.import_module(module)
    except BaseException as error:  # noqa: BLE001: a module may raise anything, SystemExit too
        raise UsageError(f"{module}:{name}: the module cannot be imported: {type(error).__name__}: {error}") from None
    library = _library(found)
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{module}:{name}: need a function of the module, got none of that name")
        found = getattr(found, part)
    return found, library


def _named(spec: str) -> tuple[Callable[..., Any], str | None, str]:
    parts = _SPEC.fullmatch(spec)
    if parts is None:
        raise UsageError(f"need MODULE:FUNCTION=OP, got {spec!r}")
    return *_function(parts[1], parts[2]), parts[3]


def merged(reports: list[Report]) -> str:
    """Their JUnit suites in one document, with the sums of what each counts."""
    texts = [report.to_junit() for report in reports]
    tags = [re.search(r"<testsuites [^>]*>", text) for text in texts]
    counts: dict[str, float] = {}
    for tag in tags:
        for key, value in re.findall(r'(\w+)="([\d.]+)"', tag[0] if tag else ""):
            counts[key] = counts.get(key, 0) + float(value)
    suites = "".join(text[tag.end() : text.rindex("</testsuites>")] for text, tag in zip(texts, tags) if tag)
    all_counts = "".join(f' {key}="{value:g}"' for key, value in counts.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="softcheck"{all_counts}>{suites}</testsuites>\n'


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m softcheck.functions", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("functions", nargs="+", metavar="MODULE:FUNCTION=OP")
    parser.add_argument("--dtype", default="float32", help="of the arrays (float32)")
    parser.add_argument("--contract", help="what they promise of their arithmetic")
    parser.add_argument("--domain", help="the calls that they are made for")
    parser.add_argument("--effort", default="quick", help="quick, default, deep or exhaustive (quick)")
    parser.add_argument("--arrays", help="numpy, torch, jax, ...: by default the library that their modules import")
    parser.add_argument("--junit", help="the reports as one file of JUnit XML")
    given = parser.parse_args()
    sys.path.insert(0, os.getcwd())
    words = {name: getattr(given, name) for name in ("dtype", "contract", "domain", "effort")}
    reports = []
    try:
        for function, library, op in [_named(spec) for spec in given.functions]:
            reports.append(check(function, op, arrays=given.arrays or library, progress=False, **words))
            print(reports[-1], flush=True)
        if given.junit is not None:
            pathlib.Path(given.junit).write_text(merged(reports), encoding="utf-8")
    except (UsageError, OSError) as error:
        print(f"softcheck.functions: {str(error).removeprefix('softcheck: ')}", file=sys.stderr)
        return USAGE
    verdicts = {report.verdict for report in reports}
    return next((code for verdict, code in EXIT_CODES.items() if verdict in verdicts), PASS)


if __name__ == "__main__":
    sys.exit(main())

"""python -m softcheck.field, or python -m softcheck run field"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys

import softcheck

from .._ops import OPS
from . import report, sweep


def _worker(text: str) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    work = json.loads(text)
    known = report.contracts_in([pathlib.Path(page) for page in work.pop("known")])
    folder = work.pop("folder")
    try:
        library = sweep.load(work.pop("name"))
    except (ImportError, RuntimeError) as error:
        print(json.dumps({"cannot": str(error)}), flush=True)
        return
    sweep.judge_library(
        library,
        show=lambda message: print(json.dumps(message), flush=True),
        folder=None if folder is None else pathlib.Path(folder),
        known=known,
        **work,
    )


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        _worker(sys.argv[2])
        return 0
    parser = argparse.ArgumentParser(prog="python -m softcheck.field", description=__doc__)
    parser.add_argument("libraries", nargs="*", help=f"of {', '.join(sweep.LIBRARIES)}; by default those installed")
    parser.add_argument("--budget", type=float, default=30, help="seconds for all that a kernel of one dtype is asked, three times as long for float64 (default: 30)")
    parser.add_argument("--effort", default="quick", choices=("quick", "default", "deep", "exhaustive"),
                        help="exhaustive: softmax, log_softmax, logsumexp and entropy of contracts that --known has; pictures go to --out")  # fmt: skip
    parser.add_argument("--domain", default="", help="words of a domain beside each kernel's own, as n=2")
    parser.add_argument("--only", default="", help="kernels whose 'name dtype' this regular expression finds; the others' results stay")
    parser.add_argument("--go-on", action="store_true", help="leave out what --out holds of the same effort")
    parser.add_argument(
        "--known",
        type=pathlib.Path,
        action="append",
        default=[],
        metavar="PAGE",
        help="judge the kernels that this page, as docs/field.md, names a contract of, each by that: no inference",
    )
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results/field"))
    parser.add_argument("--report", type=pathlib.Path, help="write this page from all that --out holds, as docs/field.md")
    parser.add_argument("--reproductions", type=pathlib.Path, default=pathlib.Path("docs/field"),
                        help="folder of the programs that --report runs and tells of (default: docs/field)")  # fmt: skip
    parser.add_argument("--title", default="Softmax and attention in the field", help="of the page")
    parser.add_argument("--ops", default="", help="the page has kernels of these ops alone (softmax,attention), and the programs that name one")
    parser.add_argument("--remark", default="", help="a line for the page's head")
    parser.add_argument("--no-sweep", action="store_true", help="judge nothing: the report alone")
    asked = parser.parse_args()
    if asked.effort == "exhaustive" and not asked.known:
        parser.error("--effort: exhaustive judges by a contract: need --known beside it")
    for page in asked.known:
        if not page.is_file():
            parser.error(f"--known: need a page as docs/field.md, got {page}, which is no file")
        if not report.contracts_in([page]):
            parser.error(f"--known: need a page as docs/field.md, got {page}, which names no contract of a kernel")
    if asked.report is not None:  # told before the sweep, which takes hours
        if not asked.report.parent.is_dir():
            parser.error(f"--report: need a page in a folder that is there, got {asked.report}")
        if asked.report.is_dir():
            parser.error(f"--report: need a page, got {asked.report}, which is a folder")
        if not asked.reproductions.is_dir():
            parser.error(f"--reproductions: need a folder of programs for --report, got {asked.reproductions}, which is none")
    for name in asked.libraries:
        if "." not in name and name not in sweep.LIBRARIES:
            parser.error(f"libraries: need one of {', '.join(sweep.LIBRARIES)}, or a module with library(), got {name!r}")
    for op in filter(None, asked.ops.split(",")):
        if op not in OPS:
            parser.error(f"--ops: need some of {', '.join(OPS)}, got {op!r}")
    idle = []
    for name in [] if asked.no_sweep else sweep.names(asked.libraries):
        try:
            swept = sweep.sweep(name, asked.out, asked.budget, asked.effort, asked.only, asked.go_on, asked.known, asked.domain)
        except ValueError as error:
            parser.error(str(error))
        if not swept["kernels"]:
            idle.append(name)
    if asked.report is not None:
        written = [asked.out / f"{name}.json" for name in sweep.LIBRARIES]
        sweeps = [json.loads(path.read_text()) for path in written if path.exists()]
        command = f"python -m softcheck.field --budget {asked.budget:g} --effort {asked.effort} --report {asked.report}"
        found = list(report.reproductions_in(asked.reproductions))
        if asked.ops:
            sweeps, found = report.of_ops(sweeps, found, asked.ops.split(","))
        asked.report.write_text(report.render(sweeps, found, command, softcheck.version(), asked.remark, asked.title))
    for name in idle:
        print(f"python -m softcheck.field: {name}: no kernel was judged: none is as --only, --known or --effort asks", file=sys.stderr)
    return 2 if idle else 0


if __name__ == "__main__":
    sys.exit(main())

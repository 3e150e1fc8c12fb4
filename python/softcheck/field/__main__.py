"""python -m softcheck.field, or python -m softcheck run field"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform
import sys

import softcheck

from .._ops import OPS
from . import data, report, sweep


def _worker(text: str) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    work = json.loads(text)
    known = data.contracts_in([pathlib.Path(page) for page in work.pop("known")])
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


def _refuse(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> None:
    """A file that cannot be read or written ends the command before the sweep, which takes hours."""
    for path in asked.known:
        need = f"--known: need a table as docs/field/field.tsv, got {path}, which"
        if not path.is_file():
            parser.error(f"{need} is no file")
        try:
            if not data.contracts_in([path]):
                parser.error(f"{need} has no contract of a kernel")
        except ValueError:
            parser.error(f"{need} is none: a page has its table in docs/field/")
    if asked.report is not None and (asked.report.is_dir() or not asked.report.parent.is_dir()):
        parser.error(f"--report: need a file in a folder that is there, got {asked.report}")
    if asked.pages is not None and not asked.pages.is_dir():
        parser.error(f"--pages: need a folder, got {asked.pages}")


def _write_data(asked: argparse.Namespace) -> None:
    """Writes the table of --report, its run in runs.json, and the current output of its folder's programs in
    findings.json. The output of a program whose library is not installed stays as it was."""
    written = [asked.out / f"{name}.json" for name in sweep.LIBRARIES]
    sweeps = [json.loads(path.read_text()) for path in written if path.exists()]
    rows = data.rows_for(asked.report, sweeps, [op for op in asked.ops.split(",") if op])
    if not rows:
        sys.exit(f"python -m softcheck.field: --report: {asked.out} has no kernel for {asked.report}")
    data.write_rows(asked.report, rows)
    run = {
        "date": f"{datetime.date.today():%-d %B %Y}",
        "machine": f"{_processor()}, one thread a library, Python {platform.python_version()}",
        "libraries": {swept["library"]: swept["version"] for swept in sweeps if swept["library"] in {row.library for row in rows}},
        "softcheck": softcheck.version(),
        "command": f"python -m softcheck.field LIBRARY --budget {asked.budget:g} --effort {asked.effort}",
        "remark": asked.remark,
    }
    runs, findings = asked.report.with_name("runs.json"), asked.report.with_name("findings.json")
    data.write_json(runs, {**data.read_json(runs), asked.report.stem: run})
    shown = {program.name: report.reproduce(program) for program in report.reproductions_in(asked.report.parent)}
    old = data.read_json(findings)
    data.write_json(findings, {name: old.get(name, output) if output == report.NOT_RUN else output for name, output in shown.items()})


def _processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {name.strip(): value.strip() for name, value in values.items()}
    features = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in fields.get("flags", "").split()]
    return f"{fields.get('model name', platform.machine())}, {' '.join(features)}"


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
        metavar="DATA",
        help="judge the kernels that this table, as docs/field/field.tsv, has a contract of, each by that: no inference",
    )
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results/field"))
    parser.add_argument("--report", type=pathlib.Path, metavar="DATA",
                        help="write this table (docs/field/field.tsv) from the results in --out, and runs.json and findings.json in its folder")  # fmt: skip
    parser.add_argument("--ops", default="", help="a kernel that no table beside --report has joins it where its op is one of these (softmax,attention)")
    parser.add_argument("--remark", default="", help="of the run, for the page")
    parser.add_argument("--pages", type=pathlib.Path, metavar="FOLDER", help="make the generated blocks of this folder's pages again, as those of docs")
    parser.add_argument("--no-sweep", action="store_true", help="judge nothing: --report and --pages alone")
    asked = parser.parse_args()
    if asked.effort == "exhaustive" and not asked.known:
        parser.error("--effort: exhaustive judges by a contract: need --known beside it")
    _refuse(parser, asked)
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
        _write_data(asked)
    if asked.pages is not None:
        for page in report.pages_in(asked.pages):
            page.write_text(report.renewed(page))
    for name in idle:
        print(f"python -m softcheck.field: {name}: no kernel was judged: none is as --only, --known or --effort asks", file=sys.stderr)
    return 2 if idle else 0


if __name__ == "__main__":
    sys.exit(main())

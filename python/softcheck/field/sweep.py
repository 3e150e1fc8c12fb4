"""Judges all kernels of a library in a process of its own: a crash there loses one kernel, not the report."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import time
from typing import Any, Mapping, Sequence

from .judge import judge
from .kernel import Library

LIBRARIES = (
    "torch", "onnxruntime", "jax", "tensorflow", "openvino", "mlx", "libggml", "ai_edge_litert", "onednn", "liger_kernel", "scipy", "sklearn",
    "transformers", "x_transformers", "entmax", "keras", "ctranslate2", "cv2", "cut_cross_entropy",
    "torch_cuda", "cupy",
)  # fmt: skip
ON_A_DEVICE = ("torch_cuda", "cupy")
"""Libraries that are judged only if they are named: even if one is installed, its device may be missing."""
ENUMERABLE = ("softmax", "log_softmax", "logsumexp", "entropy")
"""Ops that have exhaustive effort."""
NEEDS = {"onnxruntime": ("onnx",), "jax": ("optax",), "liger_kernel": ("torch", "triton"), "cv2": ("onnx",)}
WITHOUT_A_MODULE = ("onednn",)
"""Packages that contain libraries without a Python module."""


def installed(name: str) -> bool:
    if name in WITHOUT_A_MODULE:
        return any(importlib.metadata.distributions(name=name))
    return all(importlib.util.find_spec(module) for module in (name, *NEEDS.get(name, ())))


def load(name: str) -> Library:
    """The library of this package's libraries/NAME.py, or of a module with a dot in its name that has library()."""
    module = name if "." in name else f"{__package__}.libraries.{name}"
    return importlib.import_module(module).library()


def judge_library(
    library: Library,
    budget: float,
    effort: str,
    show: Any,
    *,
    skip: int = 0,
    only: str = "",
    folder: pathlib.Path | None = None,
    known: Mapping[tuple[str, str, str], str] | None = None,
    domain: str = "",
) -> None:
    """Prints a line of JSON before and after each kernel except the first `skip`.

    folder   of an earlier sweep, to continue: kernels that it judged at this version and effort are left out
    known    contracts by library, kernel and dtype: each kernel is judged by its own, without inference; others are
             left out
    domain   words in addition to a kernel's own
    """
    done = set() if folder is None else _judged(folder / f"{library.name}.json", library.version, effort)
    show({"library": library.name, "version": library.version})
    for index, kernel in enumerate(library.kernels):
        if index < skip or not re.search(only, f"{kernel.name} {kernel.dtype}") or (kernel.name, kernel.dtype) in done:
            continue
        if effort == "exhaustive" and kernel.op not in ENUMERABLE:
            continue
        if domain:
            words = " ".join([kernel.arguments.get("domain") or "", domain]).strip()
            kernel = dataclasses.replace(kernel, arguments={**kernel.arguments, "domain": words})
        if known is not None:
            if (library.name, kernel.name, kernel.dtype) not in known:
                continue
            kernel = dataclasses.replace(kernel, contract=known[library.name, kernel.name, kernel.dtype])
        show({"index": index, "begins": kernel.name, "op": kernel.op, "dtype": kernel.dtype, "link": kernel.link})
        show({"index": index, **judge(kernel, library.isolation, budget, effort), "effort": effort})


def _judged(path: pathlib.Path, version: str, effort: str) -> set[tuple[str, str]]:
    if not path.exists():
        return set()
    known = json.loads(path.read_text())
    if known["version"] != version:
        return set()
    return {(kernel["kernel"], kernel["dtype"]) for kernel in known["kernels"] if kernel.get("effort") == effort}


def sweep(
    name: str,
    folder: pathlib.Path,
    budget: float,
    effort: str,
    only: str = "",
    go_on: bool = False,
    known: Sequence[pathlib.Path] = (),
    domain: str = "",
) -> dict[str, Any]:
    """{"library", "version", "kernels": [...], "seconds"}; also written to folder/NAME.json after each kernel.

    go_on   leaves out the kernels of that file with the same effort
    known   tables such as docs/field/field.tsv: their contracts are the ones to judge by
    raises  ValueError if the library cannot be loaded, or if only or go_on would mix results of two versions
    """
    start = time.monotonic()
    result: dict[str, Any] = {"library": name, "version": None, "kernels": []}
    old: dict[str, Any] | None = None
    skip = 0

    def written() -> dict[str, Any]:
        now = {**result, "seconds": round(time.monotonic() - start, 1)}
        if old is not None:
            now = _merged(old, now)
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f"{result['library']}.json.partial"
        beside.write_text(json.dumps(now, indent=1))
        beside.rename(folder / f"{result['library']}.json")
        return now

    while True:
        work = {"name": name, "budget": budget, "effort": effort, "skip": skip, "only": only}
        work |= {"folder": str(folder) if go_on else None, "known": [str(page) for page in known], "domain": domain}
        command = [sys.executable, "-m", "softcheck.field", "--worker", json.dumps(work)]
        under_way = None
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if not line.startswith("{"):
                    continue
                message = json.loads(line)
                if "cannot" in message:
                    raise ValueError(f"{name} cannot be asked: {message['cannot']}")
                if "begins" in message:
                    under_way = message
                elif "index" in message:
                    under_way = None
                    skip = message["index"] + 1
                    result["kernels"].append(message)
                    if picture := message.pop("picture", None):
                        folder.mkdir(parents=True, exist_ok=True)
                        stem = re.sub(r"\W+", "_", f"{result['library']}_{message['kernel']}_{message['dtype']}")
                        (folder / f"{stem}.svg").write_text(picture)
                    written()
                    print(f"{name:12} {message['kernel']:40} {message['dtype']:9} {message['verdict']:9} "
                          f"{message['seconds']:6.1f} s  {message['contract'] or message['summary'][:100]}", flush=True)  # fmt: skip
                else:
                    result.update(message)
                    path = folder / f"{result['library']}.json"
                    if skip == 0 and (only or go_on) and path.exists():
                        old = json.loads(path.read_text())
                        if old["version"] != result["version"]:
                            process.kill()
                            raise ValueError(
                                f"--out: {path} has results of {name} {old['version']}, {result['version']} is installed:"
                                " need another folder, or a whole sweep"
                            )
        if under_way is None:
            result["ended"] = process.returncode
            break
        skip = under_way["index"] + 1
        result["kernels"].append({**_crashed(under_way, process.returncode), "effort": effort})
    return written()


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old sweep with the kernels that were judged again."""
    again = {(kernel["kernel"], kernel["dtype"]): kernel for kernel in new["kernels"]}
    kernels = [again.pop((kernel["kernel"], kernel["dtype"]), kernel) for kernel in old["kernels"]]
    return {**new, "kernels": kernels + list(again.values()), "seconds": old["seconds"] + new["seconds"]}


def _crashed(under_way: dict[str, Any], code: int) -> dict[str, Any]:
    text = f"the library's process ended with {code}"
    finding = {"claim": "kernel.returns", "verdict": "crash", "contract": None, "case": None, "details": [text]}
    kernel = {"kernel": under_way["begins"], **{key: under_way[key] for key in ("op", "dtype", "link")}}
    return {**kernel, "contract": None, "weak": [], "exempt": [], "verdict": "crash", "ended": None, "summary": text, "text": text,
            "findings": [finding], "seconds": 0.0, "notes": "", "domain": None, "calls": None}  # fmt: skip


def names(asked: Sequence[str]) -> list[str]:
    return list(asked) if asked else [name for name in LIBRARIES if name not in ON_A_DEVICE and installed(name)]

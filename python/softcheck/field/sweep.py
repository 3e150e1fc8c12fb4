"""All kernels of a library, judged in a process of its own: a crash there costs a kernel, not the report."""

from __future__ import annotations

import importlib
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import time
from typing import Any, Sequence

from .judge import judge
from .kernel import Library

LIBRARIES = ("torch", "onnxruntime", "jax", "tensorflow", "openvino", "mlx", "liger_kernel", "scipy", "sklearn")
NEEDS = {"onnxruntime": ("onnx",), "jax": ("optax",), "liger_kernel": ("torch", "triton")}


def installed(name: str) -> bool:
    return all(importlib.util.find_spec(module) for module in (name, *NEEDS.get(name, ())))


def load(name: str) -> Library:
    """The library of this package's libraries/NAME.py, or of a module with a dot in its name that has library()."""
    module = name if "." in name else f"{__package__}.libraries.{name}"
    return importlib.import_module(module).library()


def judge_library(library: Library, budget: float, effort: str, skip: int, only: str, show: Any) -> None:
    """Shows a line of JSON before and after each kernel but the first `skip`."""
    show({"library": library.name, "version": library.version})
    for index, kernel in enumerate(library.kernels):
        if index < skip or not re.search(only, f"{kernel.name} {kernel.dtype}"):
            continue
        show({"index": index, "begins": kernel.name, "op": kernel.op, "dtype": kernel.dtype, "link": kernel.link})
        show({"index": index, **judge(kernel, library.isolation, budget, effort)})


def sweep(name: str, folder: pathlib.Path, budget: float, effort: str, only: str = "") -> dict[str, Any]:
    """{"library", "version", "kernels": [...], "seconds"}; written to folder/NAME.json as well."""
    start = time.monotonic()
    result: dict[str, Any] = {"library": name, "version": None, "kernels": []}
    skip = 0
    while True:
        command = [sys.executable, "-m", "softcheck.field", "--worker", name, str(skip), str(budget), effort, only]
        under_way = None
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if not line.startswith("{"):
                    continue
                message = json.loads(line)
                if "begins" in message:
                    under_way = message
                elif "index" in message:
                    under_way = None
                    skip = message["index"] + 1
                    result["kernels"].append(message)
                    print(f"{name:12} {message['kernel']:40} {message['dtype']:9} {message['verdict']:9} "
                          f"{message['seconds']:6.1f} s  {message['contract'] or message['summary'][:100]}", flush=True)  # fmt: skip
                else:
                    result.update(message)
        if under_way is None:
            result["ended"] = process.returncode
            break
        skip = under_way["index"] + 1
        result["kernels"].append(_crashed(under_way, process.returncode))
    result["seconds"] = round(time.monotonic() - start, 1)
    path = folder / f"{result['library']}.json"
    if only and path.exists():
        result = _merged(json.loads(path.read_text()), result)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1))
    return result


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old sweep with the kernels that were judged again."""
    again = {(kernel["kernel"], kernel["dtype"]): kernel for kernel in new["kernels"]}
    kernels = [again.pop((kernel["kernel"], kernel["dtype"]), kernel) for kernel in old["kernels"]]
    return {**new, "kernels": kernels + list(again.values()), "seconds": old["seconds"] + new["seconds"]}


def _crashed(under_way: dict[str, Any], code: int) -> dict[str, Any]:
    text = f"the library's process ended with {code}"
    finding = {"claim": "kernel.returns", "verdict": "crash", "contract": None, "case": None, "details": [text]}
    kernel = {"kernel": under_way["begins"], **{key: under_way[key] for key in ("op", "dtype", "link")}}
    return {**kernel, "contract": None, "weak": [], "exempt": [], "verdict": "crash", "summary": text, "text": text,
            "findings": [finding], "seconds": 0.0, "notes": "", "domain": None, "calls": None}  # fmt: skip


def names(asked: Sequence[str]) -> list[str]:
    return list(asked) if asked else [name for name in LIBRARIES if installed(name)]

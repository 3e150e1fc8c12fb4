"""The functions and classes with a known op in a folder of kernels, and how each becomes a function to judge."""

from __future__ import annotations

import ast
import inspect
import pathlib
import re
import sys
import types
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

from . import _arrays
from ._ops import OPS

# Words of a name that do not name the op: my_softmax, SoftmaxTriton, softmax_kernel_impl.
_NEUTRAL = set(
    "my our new custom naive fast fused online safe stable eager baseline reference ref solution kernel impl implementation forward fwd "
    "triton torch cuda numpy np jax pallas model module fn func function op layer wrapper v".split()
)
_OTHER_NAMES = {"scaleddotproductattention": "attention", "sdpa": "attention", "crossentropyloss": "cross_entropy_mean"}
_OPS = {name.replace("_", ""): name for name in OPS} | _OTHER_NAMES
# KernelBench's classes, whose names do not name the op.
_MODELS = ("Model", "ModelNew")
_TOLD = re.compile(r"#\s*(op|dtype|domain|contract):\s*(.*?)\s*$", re.I)
# TritonBench's files have their tests after such a line. The tests need a GPU, and are not run.
_TESTS = re.compile(r"^#{100,}[ \t]*$", re.M)
# What a file's own tests and KernelBench call.
_HELPER = re.compile(r"_|test|main$|get_(init_)?inputs$", re.I)
ALSO = "also in this file, no op known: "
# The arguments that aten's functions of BackendBench get after the arrays: dim, and _softmax's half_to_float.
_ATEN = {"softmax": (-1,), "log_softmax": (-1,), "logsumexp": (-1,), "_softmax": (-1, False), "_log_softmax": (-1, False)}


@dataclass(frozen=True)
class Module:
    """A function or class of a file.

    op    one of softcheck's; None if it is unknown
    why   if op is None: the reason, as a message
    told  dtype, domain and contract, if comments give them
    """

    file: pathlib.Path
    name: str
    op: str | None
    why: str = ""
    told: dict[str, str] = field(default_factory=dict)


def op_of(name: str) -> str | None:
    """The op in the name of a function, a class or a file: "softmax" for my_softmax, SoftmaxTriton and 23_Softmax;
    None for softmax_dropout, since every word of the name must be known."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
    words = [word for word in words if word not in _NEUTRAL]
    return _OPS.get("".join(words)) or _OPS.get("".join(word for word in words if not word.isdigit()))


def _told(lines: list[str]) -> dict[str, str]:
    return {found[1].lower(): found[2] for line in lines if (found := _TOLD.match(line.strip()))}


def _above(lines: list[str], node: Any) -> dict[str, str]:
    """What the comments directly above a definition say: above its decorators, or below them."""
    begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    while begin and (lines[begin - 1].startswith("#") or not lines[begin - 1].strip()):
        begin -= 1
    return _told(lines[begin : node.lineno - 1])


def _runs_on_a_device(node: Any) -> bool:
    """A kernel of Triton, which only a launch can call, or a class of torch.autograd. The function around it is
    judged."""
    words = [ast.unparse(word) for word in node.decorator_list] + [ast.unparse(base) for base in getattr(node, "bases", ())]
    return any(word.startswith("triton.") or word.endswith("Function") for word in words)


def modules_of(file: pathlib.Path) -> list[Module]:
    """The functions of known ops, and one module that lists the others, or says that there are none. The file is read,
    not run."""
    try:
        source = _TESTS.split(file.read_text(encoding="utf-8", errors="replace"))[0]
        tree = ast.parse(source, file.name)
    except (OSError, SyntaxError, ValueError) as error:
        return [Module(file, "", None, f"{type(error).__name__}: {error}")]
    lines = source.splitlines()
    kinds = (ast.FunctionDef, ast.ClassDef)
    nodes = [node for node in tree.body if isinstance(node, kinds) and not _runs_on_a_device(node)]
    whole = _told([line for line in lines if line.startswith("#")])
    found, others = [], []
    for node in nodes:
        told = whole if node.name in _MODELS else _above(lines, node)
        op = told.get("op") or op_of(file.stem if node.name in _MODELS else node.name)
        if op is not None:
            known = op in OPS
            why = "" if known else f"op: need one of {', '.join(OPS)}, got {op!r}"
            found.append(Module(file, node.name, op if known else None, why, {n: w for n, w in told.items() if n != "op"}))
        elif not _HELPER.match(node.name):
            others.append(node.name)
    if found and others:
        found.append(Module(file, "", None, f"{ALSO}{', '.join(others)}"))
    names = ", ".join(node.name for node in nodes) or "no function or class"
    return found or [Module(file, "", None, f"no name says an op, a comment '# op: softmax' above a function or class does; got {names}")]


def in_folder(folder: pathlib.Path) -> Iterator[Module]:
    """The modules of all Python files below the folder, in the order of their paths, without hidden folders."""
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).parts
        if not any(part.startswith(".") or part in ("__pycache__", "site-packages") for part in parts):
            yield from modules_of(file)


@dataclass
class Loaded:
    """A function to judge, with the library of its arrays and the dtype that get_inputs() makes, if the file has
    them."""

    function: Callable[..., Any]
    arrays: str
    dtype: str | None
    takes: tuple[str, ...] | None


class _ByPosition:
    """A function that gets its arrays and further arguments by position, like aten's; labels are int64, as torch
    needs them."""

    def __init__(self, function: Callable[..., Any], behind: tuple[Any, ...], labels: bool) -> None:
        self._function, self._behind, self._labels = function, behind, labels

    def __call__(self, *arrays: Any) -> Any:
        if self._labels:
            arrays = (arrays[0], arrays[1].long(), *arrays[2:])
        return self._function(*arrays, *self._behind)


def _input_dtype(module: types.ModuleType) -> str | None:
    """The dtype of KernelBench's get_inputs(), on a device that needs no memory: a problem has gigabytes."""
    if not hasattr(module, "get_inputs") or "torch" not in sys.modules:
        return None
    try:
        with sys.modules["torch"].device("meta"):
            return _arrays.dtype_of(module.get_inputs()[0].dtype)
    except Exception:  # noqa: BLE001: it may ask for a GPU, or give no array
        return None


def load(file: pathlib.Path, name: str, op: str) -> Loaded:
    """Runs a file, and makes a class's object, with get_init_inputs() if the file has it."""
    source = _TESTS.split(file.read_text(encoding="utf-8", errors="replace"))[0]
    module = types.ModuleType(file.stem)
    module.__file__ = str(file)
    sys.modules[file.stem] = module
    sys.path.insert(0, str(file.parent))
    exec(compile(source, file, "exec"), module.__dict__)
    made = getattr(module, name)
    if isinstance(made, type):
        made = made(*(module.get_init_inputs() if hasattr(module, "get_init_inputs") else ()))
        made = made.eval() if hasattr(made, "eval") else made
    if not callable(made):
        made = made.forward
    imported = re.findall(r"^\s*(?:import|from)\s+(\w+)", source, re.M)
    arrays = next((library for library in ("torch", "jax", "mlx", "tensorflow", "cupy") if library in imported), "numpy")
    takes = None
    parameters = inspect.signature(getattr(made, "forward", made)).parameters.values()
    labels = OPS[op].is_loss and arrays == "torch"
    if labels or any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        takes, made = (), _ByPosition(made, _ATEN.get(name.removesuffix("_kernel_impl"), ()), labels)
    return Loaded(made, arrays, _input_dtype(module), takes)

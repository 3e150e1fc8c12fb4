"""The call of check() that judges a function again, as replay lines print it."""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from typing import Any, Callable, Mapping

from . import _arrays

# The arguments that decide how a case is called and judged. Those that choose the cases (effort, seed, cases,
# max_length, budget, max_calls) and progress are left out, since a replay names its case.
_KEPT = ("require", "exempt", "time_limit", "load_limit", "takes", "masks", "mask_mod", "score_mod", "out", "outputs", "strides", "device", "shapes", "isolation", "warm_up", "autograd")  # fmt: skip


def name_in_its_program(function: Callable[..., Any]) -> str:
    """The name of the function in the program that has it; your_function if that is not known."""
    if isinstance(function, functools.partial) and function.keywords and not function.args:
        words = [f"{name}={value!r}" for name, value in function.keywords.items()]
        return f"functools.partial({', '.join([name_in_its_program(function.func), *words])})"
    name = getattr(function, "__name__", None)
    for library in (*_arrays.LIBRARIES, "torch.nn.functional"):  # torch's own softmax is _VariableFunctionsClass.softmax by its qualified name
        if isinstance(name, str) and getattr(sys.modules.get(library), name, None) is function:
            return f"{library}.{name}"
    name = str(getattr(function, "__qualname__", "")).rsplit("<locals>.", 1)[-1]
    readable = bool(name) and all(part.isidentifier() for part in name.split("."))
    return name if readable and not inspect.ismethod(function) else "your_function"


def _dtype(dtype: Any) -> str:
    """torch's own dtypes choose torch's arrays; any other dtype is printed by its name."""
    return str(dtype) if _arrays.library_of(dtype) == "torch" else repr(_arrays.dtype_of(dtype))


def _exception(kind: type[BaseException]) -> str:
    name = kind.__qualname__.rsplit("<locals>.", 1)[-1]
    library = _arrays.library_of(kind)
    if getattr(builtins, name, None) is kind or library == "numpy":
        return name
    return f"{kind.__module__}.{name}"


def again(function: Callable[..., Any], arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """A template in which libsoftcheck fills in {contract}, {domain} and {replay}.

    arguments  of check(), op and dtype among them
    defaults   of check(): an argument that has its default is not printed
    """
    words = [name_in_its_program(function), f"op={arguments['op']!r}", f"dtype={_dtype(arguments['dtype'])}"]
    given = {
        name: arguments[name]
        for name in (*_KEPT, "out_dtype", "arrays")
        # NumPy's float64 equals None.
        if arguments[name] is not defaults[name] and (defaults[name] is None or arguments[name] != defaults[name])
    }
    library = _arrays.library_of(arguments["dtype"]) if not isinstance(arguments["dtype"], str) else "numpy"
    if library not in ("numpy", "torch"):  # a dtype of JAX's, say, which chose the arrays
        given.setdefault("arrays", library)
    for name, value in given.items():
        if name == "takes":
            value = dict(value) if isinstance(value, Mapping) else tuple(value)
        text = name_in_its_program(value) if name.endswith("_mod") else _dtype(value) if name == "out_dtype" else repr(value)
        words.append(f"{name}={text}")
    if refuses := tuple(arguments["refuses"]):
        names = ", ".join(_exception(kind) for kind in refuses)
        words.append(f"refuses=({names},)")
    return f"softcheck.check({', '.join(words)}{{contract}}{{domain}}{{replay}})"

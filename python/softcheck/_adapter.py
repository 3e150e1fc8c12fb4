"""How a function is called: from the arguments of check() and the function's own parameters."""

from __future__ import annotations

import functools
from typing import Any, Callable, Collection, Mapping, Sequence, get_args

from . import _arrays, _library
from ._function import Adapter
from ._gradients import require_forward
from ._library import UsageError, whole
from ._masks import require_form
from ._ops import ALL_ATTRIBUTES, PARAMETERS, SEQUENCES, Op
from ._parameters import is_wrapper, own_arguments, parameters_of
from ._words import Isolation, Masks


def name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def adapter_of(
    function: Callable[..., Any],
    op: Op,
    dtype: Any,
    arrays: str | None,
    takes: Mapping[str, str] | Sequence[str] | None,
    out: bool,
    outputs: int,
    refuses: Sequence[type[BaseException]],
    device: str | None,
    autograd: bool,
    masks: str,
    mods: Sequence[Any],
) -> Adapter:
    library = arrays
    if library is None:
        library = _arrays.library_of(dtype) if not isinstance(dtype, str) else "numpy"
        if library == "numpy":
            library = _arrays.library_of(function)
    if library not in _arrays.LIBRARIES:
        raise UsageError(f"arrays: need one of {', '.join(_arrays.LIBRARIES)}, got {_library.shown(library)}")
    if takes is None:
        if is_wrapper(function):
            known = ", ".join(op.parameters)
            raise UsageError(f"takes: need those of {known} that {name_of(function)}(*args, **kwargs) takes, or () for none, got None")
        taken = {name: own for name, own in parameters_of(function, op).items() if name != "out"}
    else:
        if isinstance(takes, (str, bytes)) or not isinstance(takes, Collection):
            raise UsageError(f"takes: need a list of names, or a dictionary to the function's own, got {_library.shown(takes)}")
        taken = dict(takes) if isinstance(takes, Mapping) else {name: name for name in takes}
        known = [name for name in PARAMETERS if name in op.parameters or name not in ALL_ATTRIBUTES]
        unknown = [name for name in taken if name not in known]
        if unknown:
            raise UsageError(f"takes: need names among {', '.join(known)}, got {_library.shown(unknown[0])}")
        if not all(isinstance(own, str) for own in taken.values()):
            raise UsageError(f"takes: need names of the function's parameters, got {_library.shown(takes)}")
    if out:
        taken.setdefault("out", "out")
    if "out" in taken and library not in ("numpy", "torch"):
        raise UsageError(f"out: need arrays over the judge's memory, numpy or torch, got {library}")
    if device is not None and not isinstance(device, str):
        raise UsageError(f"device: need a text such as 'cuda:0', got {_library.shown(device)}")
    if device is not None and library != "torch":
        raise UsageError(f"device: need arrays of torch, whose devices these are, got {device!r} for arrays of {library}")
    if device is not None and not device.startswith("cpu") and "out" in taken:
        raise UsageError(f"out: need arrays over the judge's memory, got a function that fills one on device {device!r}")
    returned = len(op.outputs)
    if op.merges or op.chooses or op.is_linear:
        outputs = returned
    else:
        outputs = whole("outputs", outputs, 1, returned)
    if op.is_attention_gradient:
        outputs = max(outputs, 3)
    if not isinstance(refuses, Collection) or not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in refuses):
        raise UsageError(f"refuses: need a list of exceptions' classes, got {_library.shown(refuses)}")
    _arrays.require_installed(library)
    if autograd:
        require_forward(op, library)
    # By torch's own names query i stands at key i.
    top_left = takes is None and taken.get("causal") == "is_causal"
    follow = own_arguments(function, op)
    masks = require_form(masks, get_args(Masks), _arrays.dtype_of(dtype), "mask" in taken)
    knows = _known_terms(op, taken, mods)
    return Adapter(function, op, library, taken, outputs, tuple(refuses), device, top_left, follow=follow, autograd=autograd, masks=masks, knows=knows)


def _known_terms(op: Op, taken: Mapping[str, str], mods: Sequence[Any]) -> tuple[str, ...]:
    """The terms of a call that mask_mod and score_mod give."""
    for name, mod in zip(("mask_mod", "score_mod"), mods):
        if mod is None:
            continue
        if not callable(mod):
            raise UsageError(f"{name}: need a function, got {_library.shown(mod)}")
        if not op.has_terms:
            raise UsageError(f"{name}: need attention or attention_backward, got {op.name}")
        if given := [term for term in ("mask", "bias", *SEQUENCES) if term in taken]:
            raise UsageError(f"{name}: need a function that applies a mask of its own, got one with the parameter {given[0]}")
    mask_mod, score_mod = mods
    return () if mask_mod is None and score_mod is None else ("mask",) if score_mod is None else ("mask", "bias")


def isolation_of(word: str, adapter: Adapter) -> str:
    if word not in get_args(Isolation):
        raise UsageError(f"isolation: need one of {', '.join(get_args(Isolation))}, got {word!r}")
    on_device = adapter.device is not None and not adapter.device.startswith("cpu")
    if word == "fork" and on_device:
        raise UsageError(f"isolation: a device cannot be used in a fork, got 'fork' with device {adapter.device!r}")
    if word != "auto":
        return word
    return "spawn" if on_device or adapter.arrays in _arrays.NOT_FORKED else "fork"

"""Reads a function's signature: which of an op's parameters it takes, also under torch's names."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable, Mapping

from ._ops import Op

_OTHER_NAMES = {
    "mask": ("attn_mask", "where"),
    "theta": ("temperature",),
    "scale": ("sm_scale", "softmax_scale"),
    "causal": ("is_causal",),
}
"""The names of these parameters in libraries."""
_OF_TORCH = {"mask": "attn_mask", "causal": "is_causal"}
"""Names by which attention follows torch's conventions: True is visible, and query i is at key i."""
_LAST = {"dim": -1, "axis": -1, "half_to_float": False}
"""The values that functions of rows get under these names; the last name is of aten's _softmax."""
_PER_ROW = {"reduction": "none"}
"""The value that a loss of each row gets under this name, which torch's losses have."""
_FIXED = {**_LAST, **_PER_ROW}
_AT_ZERO = ("dropout_p",)
"""Always 0: at 0 it does not change the result."""


def _scaled_dot_product_attention(  # type: ignore
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
): ...


def _along(input, dim): ...  # type: ignore


_BUILTINS = {
    "scaled_dot_product_attention": _scaled_dot_product_attention,
    "softmax": _along,
    "log_softmax": _along,
    "logsumexp": _along,
}
"""Signatures, from torch's documentation, of functions whose signature Python cannot read."""


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature; for a module of torch that of its forward. None if it cannot be read."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(function, torch.nn.Module):
        function = function.forward
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        name = getattr(function, "__name__", "")
        owners = () if torch is None else (torch, torch.nn.functional)
        is_torchs = any(getattr(owner, name, None) is function for owner in owners)
        return inspect.signature(_BUILTINS[name]) if is_torchs and name in _BUILTINS else None


def _names(function: Callable[..., Any]) -> tuple[str, ...]:
    signature = signature_of(function)
    return () if signature is None else tuple(signature.parameters)


def _bound(function: Callable[..., Any]) -> Mapping[str, Any]:
    return function.keywords if isinstance(function, functools.partial) else {}


def parameters_of(function: Callable[..., Any], op: Op) -> dict[str, str]:
    """The names of PARAMETERS in the function's signature, to its own names; empty if it cannot be read."""
    names = _names(function)
    found = {name: name for name in op.parameters if name in names}
    torchs = _OF_TORCH.items() if op.is_attention else ()
    return {**{name: own for name, own in torchs if own in names and name in op.parameters}, **found}


def own_arguments(function: Callable[..., Any], op: Op) -> tuple[str, ...]:
    """Names of arguments whose values follow from a call: dim and axis, which are the last; reduction of a loss of each
    row; enable_gqa of torch's attention. An argument with that default is left out: a function under jax.jit accepts no
    other."""
    signature = signature_of(function)
    wanted = ("enable_gqa",) if op.is_attention else () if op.merges else tuple(_LAST)
    wanted += tuple(_PER_ROW) if op.loses_per_row else ()
    parameters = {} if signature is None else signature.parameters
    return tuple(n for n, p in parameters.items() if n in wanted and n not in _bound(function) and not _is_fixed(n, p.default))


def _is_fixed(name: str, default: Any) -> bool:
    return name in _FIXED and type(default) is type(_FIXED[name]) and default == _FIXED[name]


def own_argument(name: str, arrays: tuple[tuple[int, ...], ...]) -> Any:
    """The value of such an argument in a call of arrays of these shapes."""
    return _FIXED[name] if name in _FIXED else arrays[0][1] != arrays[1][1]


def is_wrapper(function: Callable[..., Any]) -> bool:
    """Does the function accept any arguments, f(*a, **k)?"""
    signature = signature_of(function)
    kinds = set() if signature is None else {parameter.kind for parameter in signature.parameters.values()}
    return kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def left_at_defaults(function: Callable[..., Any], op: Op, taken: Mapping[str, str], own: tuple[str, ...]) -> str:
    """A note that names the function's parameters that no call sets, and those that takes= would set; or ""."""
    signature = signature_of(function)
    if signature is None:
        return ""
    given = {*taken.values(), *own, *_bound(function), *_AT_ZERO}
    parameters = signature.parameters.values()
    left = [p.name for p in parameters if p.default is not p.empty and p.name not in given and not p.name.startswith("_")]
    left = [name for name in left if not _is_fixed(name, signature.parameters[name].default)]
    if not left:
        return ""
    meant = {n: name for n, others in _OTHER_NAMES.items() for name in others if n in op.parameters and name in left}
    advice = f"; takes={dict(taken) | meant} would ask for {', '.join(meant.values())}" if meant else ""
    return f"left at their defaults in every call: {', '.join(left)}{advice}"

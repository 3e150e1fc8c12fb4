"""Functions that compile at their first call, as torch.compile's do."""

from __future__ import annotations

from typing import Any


def _is_compiled(value: Any) -> bool:
    own = getattr(value, "__dict__", None) or {}
    parts = own.get("_modules")  # a dict in a module of torch; the package softcheck has a submodule of that name
    parts = parts.values() if isinstance(parts, dict) else ()
    called = own.get("_compiled_call_impl")  # after module.compile()
    return "_torchdynamo_orig_callable" in own or called is not None or any(map(_is_compiled, parts))


def compiles(function: Any) -> bool:
    """Is it one of torch.compile's, or does it name one: a global, or a variable of the function around it?"""
    seen = set()
    while not _is_compiled(function) and id(function) not in seen:
        seen.add(id(function))
        code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
        named = [function.__globals__.get(name) for name in code.co_names] if code else []
        for cell in cells:
            try:
                named.append(cell.cell_contents)
            except ValueError:  # not yet bound
                continue
        if any(map(_is_compiled, named)):
            return True
        function = getattr(function, "func", None) or getattr(function, "__wrapped__", function)
    return _is_compiled(function)


def advice(time_limit: float) -> str:
    """What a report of a contained fork says of such a function."""
    return (
        "cause: torch.compile compiles at the first call and for new shapes: that takes seconds, and writes files, which a contained fork may not; "
        f"isolation='spawn', time_limit={max(120, time_limit):g} judges it in an interpreter of its own"
    )

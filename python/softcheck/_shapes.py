"""Few distinct shapes, for functions that are compiled for each shape."""

from __future__ import annotations

import re
from typing import get_args

from . import _arrays
from ._library import UsageError
from ._ops import Op
from ._words import Shapes

# Lengths for functions that are compiled anew for each shape: every class of n and every kind of it (a power of two,
# beside one, a multiple of 16, ...) in docs/kernels/calls.md has one, 0 is an empty call (domain n>=0), and 513 rows are
# many. A call of 513 rows has at most 1024 columns before it is too large, so that there are at most 40 shapes.
_FEW_ROWS = {"n": "0|1|3|13|17|64|100|127|401|1000|1024|4097|20000|131072", "rows": "1|3|513"}
# Exhaustive effort needs rows of two and of 65, in calls of the largest size, and widths up to 8192.
_FEW_EXHAUSTIVE = {"n": "1|2|3|13|17|64|65|100|127|401|1000|1024|4097"}
# Of attention's scores calls of 3856 queries and 16 keys; the last of seventeen has 3840, and 8 bits have 256 queries.
_FEW_SCORES = {"batch": "1", "heads": "1", "group": "1", "queries": "256|3840|3856", "keys": "16", "dim": "1", "values": "16"}  # fmt: skip
# Attention has 2 * 5 * 2 * 2 shapes, several batches and heads in each. If the caller sets one of heads and group, the
# other one has to fit it.
_FEW_LENGTHS = {
    "batch": "2",
    "heads": "4",
    "group": "2",
    "queries": "1|17",
    "keys": "0|1|17|64|1000",
    "dim": "16|80",
    "values": "16|80",
}


def _few_shapes(op: Op, domain: str | None, effort: str = "quick") -> str | None:
    """The domain, with few lengths for each dimension that it does not restrict."""
    words = (domain or "").replace(",", " ").split()
    named = {re.split("[<>=]", word)[0] for word in words if word != "n>=0"}  # which adds empty rows to the listed ones
    if named & {"heads", "group"}:
        named |= {"heads", "group"}
    if effort == "exhaustive":
        lengths = _FEW_SCORES if op.is_attention else _FEW_EXHAUSTIVE
    else:
        lengths = _FEW_LENGTHS if op.is_attention else _FEW_ROWS
    return " ".join([domain or ""] + [f"{name}={few}" for name, few in lengths.items() if name not in named]).strip()


def with_shapes(word: str | None, library: str, op: Op, domain: str | None, effort: str) -> str | None:
    """The domain for `shapes="few"` or "any"; None chooses by the library of the arrays."""
    if word is None:
        word = "few" if library in _arrays.COMPILED_BY_SHAPE else "any"
    if word not in get_args(Shapes):
        raise UsageError(f"shapes: need one of {', '.join(get_args(Shapes))}, got {word!r}")
    return _few_shapes(op, domain, effort) if word == "few" else domain

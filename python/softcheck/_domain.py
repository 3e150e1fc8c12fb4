"""A judgement's domain: the caller's words, and those that follow from what a function takes."""

from __future__ import annotations

import re
from typing import get_args

from . import _arrays
from ._function import Adapter
from ._library import UsageError
from ._masks import ADDED
from ._ops import ATTENTION_WORDS, LOSS_WORDS, SEQUENCE_WORDS, Op
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

_FEW_CLASSES = {"queries": "1|17", "keys": "1|17|64|1000", "dim": "16|80"}


def tries_empty_rows(op: Op, domain: str | None) -> bool:
    """Does the domain say how short rows may be? Attention's say so by keys and queries, and may always be empty."""
    return op.is_attention or op.is_linear or re.search(r"(^|[ ,])n>?=", domain or "") is not None


def domain_of(adapter: Adapter, domain: str | None, strides: bool, empty_rows: bool) -> str:
    """The caller's domain, and what follows from the function's parameters."""
    words = [] if not domain else [domain]
    given = set((domain or "").replace(",", " ").split())
    implied = []
    op, takes = adapter.op, adapter.takes
    of_rows = not op.is_attention and not op.is_linear
    if "theta" not in takes and of_rows:
        implied.append("theta=1")
    elif op.may_scale:
        implied.append("temperature")
    if op.is_attention:
        if "scale" not in takes:
            implied.append("scale=1/sqrt(dim)")
        if "causal" not in takes:
            adapter.own["causal"] = "causal" in given
            implied += [] if adapter.own["causal"] else ["nocausal"]
        named = {word.split("=")[0] for word in given}
        implied += [word for name, word in ATTENTION_WORDS.items() if name in takes and word.split("=")[0] not in named]
        adapter.top_left = "causal=top-left" in given or (adapter.top_left and not any(word.startswith("causal=") for word in given))
        implied += ["causal=top-left"] if adapter.top_left else []
        implied += sorted({word for name, word in SEQUENCE_WORDS.items() if name in takes})
        if op.has_sigmoid_bias and "sigmoid_bias" not in takes:
            implied.append("sigmoid_bias=-ln(keys)")
    elif of_rows and not empty_rows:
        implied.append("n>=1")
    if op.is_attention_gradient:
        implied += _asked_gradients(adapter, given)
    if of_rows and (op.is_loss or "targets" in op.inputs):
        implied += [word for name, word in LOSS_WORDS.items() if name in op.attributes and name not in takes]
    if op.of_calls and "reduction" not in takes:
        adapter.own["reduction"] = "sum" if "reduction=sum" in given else "mean"
        implied.append(f"reduction={adapter.own['reduction']}")
    if "reverse" in op.attributes and "reverse" not in takes:
        adapter.own["reverse"] = "kl=reverse" in given
        implied += [] if adapter.own["reverse"] else ["kl=forward"]
    if op.merges and "lse_base2" not in takes:
        adapter.own["lse_base2"] = "base=2" in given
        if not adapter.own["lse_base2"]:
            implied.append("base=e")
    if op.filters:
        implied += [f"{name}=0" for name in ("top_p", "min_p") if name not in takes]
        implied += ["top_k"] if "k" in takes else []
        if "renormalize" not in takes:
            adapter.own["renormalize"] = "renormalize=1" in given
            implied += [] if adapter.own["renormalize"] else ["renormalize=0"]
    if op.chooses:
        implied += _topk_words(adapter, given)
    if "mask" not in adapter.takes and not op.is_linear:
        implied.append("nomask")
    # Adding -inf hides neither a NaN nor +inf.
    if adapter.masks in ADDED and not given & {"finite", "nan=visible"}:
        implied.append("nan=visible")
    if not strides:
        implied.append("compact")
    return " ".join(words + [word for word in implied if word not in given])


def _asked_gradients(adapter: Adapter, given: set[str]) -> list[str]:
    """The words by which calls ask for the gradients by sinks and bias: outputs=4 and 5 say them, too."""
    words = [word for word in ("dsinks", "dbias") if word in given]
    if adapter.outputs == 5:
        words = ["dsinks", "dbias"]
    elif adapter.outputs == 4 and not words:
        words = ["dsinks"]
    for word, name in (("dsinks", "sinks"), ("dbias", "bias")):
        if word in words and (name not in adapter.takes or adapter.autograd):
            by_itself = "returns" if not adapter.autograd else "returns, without autograd,"
            raise UsageError(f"outputs: need a function that takes {name} where it {by_itself} their gradient")
    adapter.outputs = 3 + len(words)
    return words


def _topk_words(adapter: Adapter, given: set[str]) -> list[str]:
    if "k" not in adapter.takes and not any(word.startswith("k=") for word in given):
        raise UsageError("k: need a function with the parameter k, or one k in the domain, 'k=2', got neither")
    words = _router_words(adapter, given)
    if "renormalize" in adapter.takes:
        return words
    adapter.own["renormalize"] = "renormalize=1" in given
    return words if adapter.own["renormalize"] else [*words, "renormalize=0"]


def _router_words(adapter: Adapter, given: set[str]) -> list[str]:
    takes, named = adapter.takes, {word.split("=")[0] for word in given}
    words = [name for name in ("bias", "groups", "routed_scale") if name in takes and name not in named]
    if "sigmoid" not in takes:
        adapter.own["sigmoid"] = "scores=sigmoid" in given
    elif "scores" not in named:
        words.append("scores=either")
    if "groups" not in takes and "groups" not in named:
        return words
    if "groups_kept" not in takes and "kept" not in named:
        raise UsageError("groups_kept: need a function with the parameter groups_kept, or 'kept=4' in the domain, got neither")
    return words if "group_items" in takes or "group_items" in named else [*words, "group_items=1"]


def _few_shapes(op: Op, domain: str | None, effort: str = "quick") -> str | None:
    """The domain, with few lengths for each dimension that it does not restrict."""
    words = (domain or "").replace(",", " ").split()
    named = {re.split("[<>=]", word)[0] for word in words if word != "n>=0"}  # which adds empty rows to the listed ones
    if named & {"heads", "group"}:
        named |= {"heads", "group"}
    if effort == "exhaustive":
        lengths = _FEW_SCORES if op.is_attention else _FEW_EXHAUSTIVE
    else:
        lengths = _FEW_LENGTHS if op.is_attention else _FEW_CLASSES if op.is_linear else _FEW_ROWS
    return " ".join([domain or ""] + [f"{name}={few}" for name, few in lengths.items() if name not in named]).strip()


def with_shapes(word: str | None, library: str, op: Op, domain: str | None, effort: str) -> str | None:
    """The domain for `shapes="few"` or "any"; None chooses by the library of the arrays."""
    if word is None:
        word = "few" if library in _arrays.COMPILED_BY_SHAPE else "any"
    if word not in get_args(Shapes):
        raise UsageError(f"shapes: need one of {', '.join(get_args(Shapes))}, got {word!r}")
    return _few_shapes(op, domain, effort) if word == "few" else domain

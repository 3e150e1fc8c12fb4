"""The ops, what a function of each gets and may take, and the domain's words for it."""

from __future__ import annotations

from typing import Any, Callable

from ._library import describe

_DESCRIBED = {op["name"]: op for op in describe()["ops"]}
INPUTS = {
    name: tuple(tensor["role"] for tensor in op["inputs"] if not tensor["optional"]) for name, op in _DESCRIBED.items()
}
"""The arrays that a function of each op gets, in this order."""


def _ops(trait: Callable[[dict[str, Any]], bool]) -> tuple[str, ...]:
    return tuple(name for name, op in _DESCRIBED.items() if trait(op))


OPS = tuple(INPUTS)
ATTENTION_OPS = _ops(lambda op: op["of"] == "attention")
ROW_OPS = _ops(lambda op: op["of"] == "rows")
GRADIENT_OPS = _ops(lambda op: op["inputs"][0]["role"] == "saved")
LOSS_OPS = _ops(lambda op: any(tensor["role"] == "labels" for tensor in op["inputs"]))
MEAN_OPS = _ops(lambda op: op["whole_calls"])
"""Losses of all rows of a call together, and their gradient."""
MERGE_OPS = _ops(lambda op: op["inputs"][0]["role"] == "out")
"""Ops that return an array of vectors and one of log-sum-exps."""
ATTENTION_GRADIENT_OPS = _ops(lambda op: "dq" in op["outputs"])
"""Ops that return an array for each of q, k and v."""
TOPK_OPS = _ops(lambda op: "ids" in op["outputs"])
"""Ops that return an array of weights and one of ids."""
TOP_P_OPS = _ops(lambda op: op["filters"])
"""Ops of the items that top_p and min_p keep."""
ROW_VALUE_OPS = _ops(lambda op: op["value_per_row"])
"""Ops with one value for each row, or for all of them."""

# What a function may take beside its arrays, by softcheck's names.
ATTRIBUTES = {"label_smoothing": 0.0, "z_loss": 0.0, "softcap": 0.0, "ignore_index": -100}
"""Of losses; with the values of a function that does not take them."""
MEAN_ATTRIBUTES = {"reduction": "mean"}
"""Of means: "mean" or "sum"; with the value of a function that does not take it."""
LOSS_TENSORS = {"class_weights": None}
"""What a call of losses may have beside them; with the value of a call that has none."""
ATTENTION_ATTRIBUTES: dict[str, Any] = {
    "window": (-1, -1),
    "softcap": 0.0,
    "sinks": None,
    "alibi_slopes": None,
    "bias": None,
    "lse_gradient": None,
    "causal_top_left": False,
}
"""Of attention, lse_gradient of its gradient alone; with the values of a call that has none."""
MERGE_ATTRIBUTES = {"lse_base2": False}
"""Of merges; with the value of a function that does not take it."""
TOPK_ATTRIBUTES: dict[str, Any] = {"k": None, "renormalize": False}
"""Of top-k; with the values of a function that does not take them: its k is the domain's, k=2."""
TOP_P_ATTRIBUTES = {"top_p": 0.0, "min_p": 0.0}
"""Of sampling; 0 is off, and the value of a function that does not take it."""
ATTENTION_WORDS = {
    "window": "window",
    "softcap": "softcap",
    "sinks": "sinks",
    "alibi_slopes": "alibi",
    "bias": "bias",
    "lse_gradient": "dlse",
    "causal_top_left": "causal=either",
}
"""The domain's words by which calls have them."""
LOSS_WORDS = {
    "label_smoothing": "nosmoothing",
    "z_loss": "nozloss",
    "softcap": "nosoftcap",
    "class_weights": "noweights",
    "ignore_index": "ignore=-100",
}
"""The domain's words by which calls of losses lack them."""
SEQUENCES = ("cu_seqlens_q", "cu_seqlens_k", "block_table", "lengths")
"""Arrays of int32 by which a call of attention holds sequences of different lengths."""
LONGEST = {"max_seqlen_q": "cu_seqlens_q", "max_seqlen_k": "cu_seqlens_k"}
"""Numbers that follow from them."""
SEQUENCE_WORDS = {"cu_seqlens_q": "packed", "cu_seqlens_k": "packed", "block_table": "pages"}
"""The domain's words by which calls are so."""
TENSORS = ("sinks", "alibi_slopes", "bias", "lse_gradient", *LOSS_TENSORS, *SEQUENCES)
"""Attributes that are arrays."""
ALL_ATTRIBUTES = tuple(
    dict.fromkeys(
        (
            *ATTRIBUTES,
            *LOSS_TENSORS,
            *MEAN_ATTRIBUTES,
            *MERGE_ATTRIBUTES,
            *TOPK_ATTRIBUTES,
            *TOP_P_ATTRIBUTES,
            *ATTENTION_ATTRIBUTES,
            *SEQUENCES,
            *LONGEST,
        )
    )
)
PARAMETERS = ("mask", "theta", "scale", "causal", "out", *ALL_ATTRIBUTES)

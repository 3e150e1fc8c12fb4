"""The ops from the library's tables: the arrays and parameters of each op's function, its results, and its domain's
words."""

from __future__ import annotations

from typing import Any

from ._abi import GROUPS
from ._library import describe

SEQUENCES = ("cu_seqlens_q", "cu_seqlens_k", "block_table", "lengths")
"""Arrays of int32 by which a call of attention holds sequences of different lengths."""
LONGEST = {"max_seqlen_q": "cu_seqlens_q", "max_seqlen_k": "cu_seqlens_k"}
"""Numbers that follow from these arrays."""
SEQUENCE_WORDS = {"cu_seqlens_q": "packed", "cu_seqlens_k": "packed", "block_table": "pages"}
"""The domain's words for calls with these arrays."""
TERMS = ("sinks", "alibi_slopes", "bias", "lse_gradient")
"""Attributes of attention that are arrays; lse_gradient is of its gradient only."""
TENSORS = (*TERMS, "dropout_mask", "class_weights", *SEQUENCES)
"""Attributes that are arrays."""
ATTENTION_WORDS = {
    "window": "window",
    "softcap": "softcap",
    "sinks": "sinks",
    "alibi_slopes": "alibi",
    "bias": "bias",
    "dropout_mask": "dropout",
    "lse_gradient": "dlse",
    "causal_top_left": "causal=either",
}
"""The domain's words for calls with attention's attributes."""
LOSS_WORDS = {
    "label_smoothing": "nosmoothing",
    "z_loss": "nozloss",
    "softcap": "nosoftcap",
    "class_weights": "noweights",
    "ignore_index": "ignore=-100",
}
"""The domain's words for calls of losses without these attributes."""


class Op:
    """An op.

    inputs      the arrays that a function of it gets, in this order
    outputs     the arrays that it returns; a call may lack the last ones
    attributes  the function's possible parameters other than its arrays, by softcheck's names. Each has the value of a
                call without it, or of a function that does not take it (k is then the domain's, k=2)
    parameters  all parameters that the function may take
    """

    def __init__(self, table: dict[str, Any]) -> None:
        self.name: str = table["name"]
        self.claims = tuple(table["claims"])
        self.inputs = tuple(tensor["role"] for tensor in table["inputs"] if not tensor["optional"])
        self.outputs = tuple(table["outputs"]) if len(table["outputs"]) > 1 else ("output",)
        self.is_attention = table["of"] == "attention"
        self.is_attention_gradient = "dq" in self.outputs
        self.is_loss = "labels" in self.inputs
        self.is_linear = table["of"] == "linear"
        """A linear layer's loss, or its gradient."""
        self.of_calls = table["whole_calls"]
        """A loss of all rows of a call together, or its gradient."""
        self.loses_per_row = not self.of_calls and any(role in self.inputs for role in ("labels", "targets", "teacher"))
        """A loss of each row, or its gradient."""
        self.merges = self.inputs[0] == "out"
        self.chooses = "ids" in self.outputs
        """It returns chosen items and their weights."""
        self.filters = table["filters"]
        self.may_scale = table["optional_theta"]
        """Calls of it have a temperature if the domain says so."""
        self.has_terms = table["attributes"]
        self.has_sigmoid_bias = table["sigmoid"]
        self.row_values = table["value_per_row"] or (self.is_linear and len(self.outputs) == 1)
        self.attributes = self._attributes()
        # Each op that takes a mask also takes a temperature, which is 1 by default, except for a gradient. If an array
        # is named out, or there are several results, a function returns them.
        usual = {
            "mask": table["mask"],
            "theta": table["theta"] or table["optional_theta"] or (table["mask"] and not self.is_attention_gradient),
            "scale": self.is_attention,
            "causal": self.is_attention,
            "out": "out" not in self.inputs and not self.chooses,
        }
        sequences = SEQUENCES if table["pages"] else SEQUENCES[:2] if table["packed"] else ()
        self.parameters = (*(name for name, has in usual.items() if has), *self.attributes, *sequences, *(LONGEST if sequences else ()))

    def _attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.is_linear:
            found |= {"ignore_index": -100}
        elif self.is_loss:
            found |= {"label_smoothing": 0.0, "z_loss": 0.0, "softcap": 0.0, "ignore_index": -100, "class_weights": None}
        if "targets" in self.inputs:
            found |= {"z_loss": 0.0, "softcap": 0.0}
        if "teacher" in self.inputs:
            found |= {"reverse": False}
        if self.of_calls:
            found |= {"reduction": "mean"}
        if self.merges:
            found |= {"lse_base2": False}
        if self.chooses:
            found |= {"k": None, "renormalize": False, "sigmoid": False, "bias": None, "routed_scale": 1.0}
            found |= dict.fromkeys(GROUPS, 0)
        if self.filters:
            found |= {"k": None, "top_p": 0.0, "min_p": 0.0, "renormalize": False}
        if self.has_terms:
            found |= {"window": (-1, -1), "softcap": 0.0, **dict.fromkeys(TERMS), "causal_top_left": False}
        if self.has_terms and not self.has_sigmoid_bias and "lambdas" not in self.inputs:
            found |= {"dropout_mask": None, "dropout_scale": 1.0}
        if self.has_sigmoid_bias:
            found |= {"sigmoid_bias": None}
        return found


OPS = {table["name"]: Op(table) for table in describe()["ops"]}
ATTRIBUTES = {name: usual for op in OPS.values() for name, usual in op.attributes.items()}
"""The attributes of all ops."""
ALL_ATTRIBUTES = (*ATTRIBUTES, *SEQUENCES, *LONGEST)
PARAMETERS = ("mask", "theta", "scale", "causal", "out", *ALL_ATTRIBUTES)

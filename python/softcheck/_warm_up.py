"""One call of a function in this process, before it is judged: for those that compile at their first call."""

from __future__ import annotations

import contextlib

import numpy as np

from . import _arrays
from ._function import Adapter, Request
from ._ops import (
    ATTENTION_GRADIENT_OPS,
    ATTENTION_OPS,
    ATTRIBUTES,
    LOSS_OPS,
    MEAN_OPS,
    MERGE_ATTRIBUTES,
    MERGE_OPS,
    ROW_VALUE_OPS,
    SEQUENCE_WORDS,
    TOPK_OPS,
    TOP_P_ATTRIBUTES,
)


def call_once(adapter: Adapter, dtype: str) -> None:
    kind = _arrays.bits_dtype(dtype)
    shapes = [(1, 1, 4, 16) if adapter.op in ATTENTION_OPS else (4, 16)] * adapter.own_inputs
    scalar = adapter.op in ROW_VALUE_OPS
    output = np.zeros(shapes[0][:-1] if scalar else shapes[0], kind)
    inputs = [(np.zeros(shape, kind), dtype) for shape in shapes]
    if adapter.op in LOSS_OPS:
        inputs[1] = (np.zeros(4, np.int64), "i64")
        inputs[2:] = [(np.ones(1 if adapter.op in MEAN_OPS else 4, kind), dtype) for _ in inputs[2:]]
    if adapter.op in MEAN_OPS and scalar:
        output = np.zeros(1, kind)
    results = [(output, dtype)]
    if adapter.op in ATTENTION_GRADIENT_OPS:
        wide = "f64" if dtype == "f64" else "f32"
        inputs[4] = (np.zeros(shapes[0][:-1], _arrays.bits_dtype(wide)), wide)
        results = [(np.zeros(shapes[0], kind), dtype) for _ in range(3)]
    if adapter.op in MERGE_OPS:  # two parts of four rows
        wide = "f64" if dtype == "f64" else "f32"
        inputs = [(np.zeros((2, 4, 16), kind), dtype), (np.zeros((2, 4), _arrays.bits_dtype(wide)), wide)]
        results = [(np.zeros((4, 16), kind), dtype), (np.zeros(4, _arrays.bits_dtype(wide)), wide)]
    if adapter.op in TOPK_OPS:  # two of the items of four rows
        wide = "f64" if dtype == "f64" else "f32"
        results = [(np.zeros((4, 2), _arrays.bits_dtype(wide)), wide), (np.zeros((4, 2), np.int32), "i32")]
    attributes = {**ATTRIBUTES, **MERGE_ATTRIBUTES, **TOP_P_ATTRIBUTES, "k": 2, "renormalize": adapter.renormalizes}
    attributes["reduction"] = adapter.reduction
    words = {SEQUENCE_WORDS.get(name) for name in adapter.takes}
    if words & {"packed", "pages"}:  # one sequence of four queries and four keys
        starts, one = (np.array([0, 4], np.int32), "i32"), (np.zeros((1, 1), np.int32), "i32")
        tokens, page = np.zeros((4, 1, 16), kind), np.zeros((1, 4, 1, 16), kind)
        inputs = [(tokens if "packed" in words else inputs[0][0], dtype)]
        inputs += [(page if "pages" in words else tokens, dtype)] * 2
        results = [(np.zeros_like(inputs[0][0]), dtype)]
        if adapter.op in ATTENTION_GRADIENT_OPS:
            wide = "f64" if dtype == "f64" else "f32"
            lse = (np.zeros((1, 4), _arrays.bits_dtype(wide)), wide)
            inputs += [(tokens, dtype), lse, (tokens, dtype)]
            results = [(np.zeros_like(tokens), dtype) for _ in range(3)]
        attributes |= {"cu_seqlens_q": starts} if "packed" in words else {}
        attributes |= {"block_table": one, "lengths": (np.array([4], np.int32), "i32")} if "pages" in words else {}
        attributes |= {} if "pages" in words else {"cu_seqlens_k": starts}
    request = Request(inputs, None, results, 1.0, 0.25, False, attributes)
    with contextlib.suppress(Exception):  # what it raises, the judgement will show
        adapter.answer(request)

"""Calls a function once in this process before it is judged: for functions that are compiled at their first call."""

from __future__ import annotations

import contextlib

import numpy as np

from . import _arrays
from ._function import Adapter, Request
from ._ops import SEQUENCE_WORDS


def call_once(adapter: Adapter, dtype: str) -> None:
    op, kind = adapter.op, _arrays.bits_dtype(dtype)
    wide = "f64" if dtype == "f64" else "f32"

    def zeros(*shape: int, dtype: str = dtype) -> tuple[np.ndarray, str]:
        return np.zeros(shape, _arrays.bits_dtype(dtype)), dtype

    shape = (1, 1, 4, 16) if op.is_attention else (4, 16)
    inputs = [zeros(*shape) for _ in op.inputs]
    results = [zeros(*shape[:-1]) if op.row_values else zeros(*shape)]
    if op.is_loss:
        inputs[1] = (np.zeros(4, np.int64), "i64")
        inputs[2:] = [(np.ones(1 if op.of_calls else 4, kind), dtype) for _ in inputs[2:]]
    if "targets" in op.inputs:
        inputs[2:] = [(np.ones(4, kind), dtype) for _ in inputs[2:]]
    if op.of_calls and op.row_values:
        results = [zeros(1)]
    if op.is_attention_gradient:
        inputs[4] = zeros(*shape[:-1], dtype=wide)
        results = [zeros(*shape) for _ in range(3)]
    if op.merges:  # two parts of four rows
        inputs = [zeros(2, 4, 16), zeros(2, 4, dtype=wide)]
        results = [zeros(4, 16), zeros(4, dtype=wide)]
    if op.chooses:  # two of the items of four rows
        results = [zeros(4, 2, dtype=wide), (np.zeros((4, 2), np.int32), "i32")]
    attributes = {name: usual for name, usual in op.attributes.items() if usual is not None}
    attributes |= {**adapter.own, "k": 2}
    words = {SEQUENCE_WORDS.get(name) for name in adapter.takes}
    if words & {"packed", "pages"}:  # one sequence of four queries and four keys
        starts, one = (np.array([0, 4], np.int32), "i32"), (np.zeros((1, 1), np.int32), "i32")
        tokens = zeros(4, 1, 16)
        inputs = [tokens if "packed" in words else inputs[0]] + [zeros(1, 4, 1, 16) if "pages" in words else tokens] * 2
        results = [zeros(*inputs[0][0].shape)]
        if op.is_attention_gradient:
            inputs += [tokens, zeros(1, 4, dtype=wide), tokens]
            results = [zeros(4, 1, 16) for _ in range(3)]
        attributes |= {"cu_seqlens_q": starts} if "packed" in words else {}
        attributes |= {"block_table": one, "lengths": (np.array([4], np.int32), "i32")} if "pages" in words else {}
        attributes |= {} if "pages" in words else {"cu_seqlens_k": starts}
    request = Request(inputs, None, results, 1.0, 0.25, False, attributes)
    with contextlib.suppress(Exception):  # the judgement will show its errors
        adapter.answer(request)

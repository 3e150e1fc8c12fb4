"""adaptive_softmax and adaptive_attention under torch's autograd. Only what has torch imports this."""

from __future__ import annotations

from typing import Any

import torch

from . import _arrays
from ._adaptive import attention_of_heads, softmax_of_rows

_once = torch.autograd.function.once_differentiable


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Any, mask: Any, dim: int) -> Any:
        ctx.save_for_backward(logits)
        ctx.words = mask, dim
        return _arrays.from_bits(*softmax_of_rows("adaptive_softmax", [logits], mask, dim), "torch")

    @staticmethod
    @_once
    def backward(ctx: Any, gradient: Any) -> Any:
        arrays = [*ctx.saved_tensors, gradient]
        return _arrays.from_bits(*softmax_of_rows("adaptive_softmax_backward", arrays, *ctx.words), "torch"), None, None


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any, mask: Any, scale: float, causal: bool) -> Any:
        ctx.save_for_backward(q, k, v)
        ctx.words = mask, scale, causal
        shape = (*q.shape[:-1], *v.shape[-1:])
        (out,), dtype = attention_of_heads("adaptive_attention", [q, k, v], mask, scale, causal, [shape])
        return _arrays.from_bits(out, dtype, "torch")

    @staticmethod
    @_once
    def backward(ctx: Any, gradient: Any) -> Any:
        arrays = [*ctx.saved_tensors, gradient]
        shapes = [array.shape for array in ctx.saved_tensors]
        outs, dtype = attention_of_heads("adaptive_attention_backward", arrays, *ctx.words, shapes)
        return (*(_arrays.from_bits(out, dtype, "torch") for out in outs), None, None, None)

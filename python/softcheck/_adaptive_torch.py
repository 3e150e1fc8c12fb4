"""adaptive_softmax and adaptive_attention under torch's autograd. Only code that has torch imports this module."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from . import _arrays
from ._adaptive import attention_of_heads, softmax_of_rows


class _Gradient(torch.autograd.Function):
    """A gradient as a function of the saved tensors. No kernel computes a second derivative: asking for one is an
    error."""

    @staticmethod
    def forward(ctx: Any, name: str, gradient: Any, *tensors: Any) -> Any:
        ctx.name = name
        return gradient(*tensors)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(f"{ctx.name}: need a first derivative, got a second one: autograd differentiates it once")


def _save(ctx: Any, tensors: Any, mask: Any, *words: Any) -> None:
    """torch refuses a backward pass if these tensors, the mask among them, have changed since the forward pass."""
    is_tensor = isinstance(mask, torch.Tensor)
    ctx.save_for_backward(*tensors, mask if is_tensor else None)
    ctx.mask, ctx.words = None if is_tensor or mask is None else np.array(mask), words


def _saved(ctx: Any) -> tuple[Any, Any]:
    *tensors, mask = ctx.saved_tensors
    return tensors, ctx.mask if mask is None else mask


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Any, mask: Any, dim: int) -> Any:
        result = _arrays.from_bits(*softmax_of_rows("adaptive_softmax", [logits], mask, dim), "torch")
        _save(ctx, [logits], mask, dim)
        return result

    @staticmethod
    def backward(ctx: Any, upstream: Any) -> Any:
        (logits,), mask = _saved(ctx)

        def gradient(*arrays: Any) -> Any:
            return _arrays.from_bits(*softmax_of_rows("adaptive_softmax_backward", arrays, mask, *ctx.words), "torch")

        return _Gradient.apply("adaptive_softmax", gradient, logits, upstream), None, None


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any, mask: Any, scale: float, causal: bool) -> Any:
        shape = (*q.shape[:-1], *v.shape[-1:])
        (out,), dtype = attention_of_heads("adaptive_attention", [q, k, v], mask, scale, causal, [shape])
        _save(ctx, [q, k, v], mask, scale, causal)
        return _arrays.from_bits(out, dtype, "torch")

    @staticmethod
    def backward(ctx: Any, upstream: Any) -> Any:
        tensors, mask = _saved(ctx)
        shapes = [array.shape for array in tensors]

        def gradients(*arrays: Any) -> Any:
            outs, dtype = attention_of_heads("adaptive_attention_backward", arrays, mask, *ctx.words, shapes)
            return tuple(_arrays.from_bits(out, dtype, "torch") for out in outs)

        return (*_Gradient.apply("adaptive_attention", gradients, *tensors, upstream), None, None, None)

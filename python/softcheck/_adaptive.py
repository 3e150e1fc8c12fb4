"""Adaptive temperature for the user's own models: softcheck's CPU kernels on arrays of NumPy and torch."""

from __future__ import annotations

import ctypes
import math
from typing import Any, Sequence

import numpy as np

from . import _abi, _arrays, _dtypes, _library
from ._kernels import kernel
from ._library import UsageError, flag, number, shown


def call_kernel(
    name: str,
    inputs: Sequence[tuple[np.ndarray, str]],
    outputs: Sequence[tuple[np.ndarray, str]],
    mask: np.ndarray | None = None,
    scale: float = 1.0,
    causal: bool = False,
) -> bool:
    """Calls a kernel. Arrays are bits with their dtypes (_arrays.to_bits), the mask is bool. True if it filled the
    outputs."""
    tensors = [_dtypes.Tensor(np.ascontiguousarray(array), dtype) for array, dtype in inputs]
    if mask is not None:
        tensors.append(_dtypes.Tensor(np.ascontiguousarray(mask).view(np.uint8), "u8"))
    results = [_dtypes.Tensor(array, dtype) for array, dtype in outputs]
    for tensor in (*tensors, *results):
        tensor.tensor.strides = None  # all are compact; NumPy's strides of an empty array are 0, which kernels refuse
    call = _abi.TensorCall(tensors, results, 1.0, scale, causal)
    return kernel(name)(ctypes.byref(call.call)) == 0


def _bits(name: str, array: Any) -> tuple[np.ndarray, str]:
    if getattr(getattr(array, "device", None), "type", "cpu") != "cpu":  # to_bits would copy it
        raise UsageError(f"{name}: need an array on the CPU, got one on {array.device}")
    try:
        bits, dtype = _arrays.to_bits(array)
    except (TypeError, RuntimeError) as error:
        raise UsageError(f"{name}: {error}") from None
    if dtype not in _dtypes.LONG_NAMES:
        raise UsageError(f"{name}: need {_dtypes.FORMAT_NAMES}, got {dtype}")
    return bits, dtype


def _mask(name: str, mask: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    if mask is None:
        return None
    try:
        bits, dtype = _arrays.to_bits(mask)
    except TypeError:
        dtype = type(mask).__name__
    if isinstance(mask, np.ma.MaskedArray):
        dtype = "a masked array"
    if dtype != "bool":
        raise UsageError(f"{name}: mask: need an array of bool (True = visible), got {dtype}")
    try:
        return np.broadcast_to(bits, shape)
    except ValueError:
        raise UsageError(f"{name}: mask: need a shape that broadcasts to {shape}, got {bits.shape}") from None


def _rows(array: np.ndarray, dim: int) -> np.ndarray:
    moved = np.moveaxis(array, dim, -1)
    return np.ascontiguousarray(moved).reshape(math.prod(moved.shape[:-1]), moved.shape[-1])


def softmax_of_rows(name: str, arrays: Sequence[Any], mask: Any, dim: int) -> tuple[np.ndarray, str]:
    """Calls a kernel of rows on arrays of one shape, the logits first, along a dimension. Returns bits."""
    inputs = [_bits(name, array) for array in arrays]
    (logits, dtype), *rest = inputs
    dimensions = logits.ndim
    if dimensions == 0:
        raise UsageError(f"{name}: need an array of one dimension or more, got a number")
    dim = _library.whole(f"{name}: dim", dim, -dimensions, dimensions - 1)
    seen = _mask(name, mask, logits.shape)
    rows = [(_rows(bits, dim), kind) for bits, kind in inputs]
    out = np.empty_like(rows[0][0])
    if not call_kernel(name, rows, [(out, dtype)], None if seen is None else _rows(seen, dim)):
        raise UsageError(f"{name}: need arrays of one dtype and memory for them, got a refusal of shape {logits.shape}")
    moved = np.moveaxis(logits, dim, -1).shape
    out = np.moveaxis(out.reshape(moved), -1, dim)
    if rest and seen is not None:  # a gradient, also of a row without a visible item, whose coefficients are NaN
        out[~seen] = 0
    return out, dtype


def attention_of_heads(
    name: str, arrays: Sequence[Any], mask: Any, scale: float, causal: bool, results: Sequence[Any]
) -> tuple[list[np.ndarray], str]:
    """Calls a kernel of attention on q, k, v and further inputs. Returns arrays of the given shapes, as bits."""
    inputs = [_bits(name, array) for array in arrays]
    (q, dtype), (k, _), (v, _), *_ = inputs
    shapes = ", ".join(str(bits.shape) for bits in (q, k, v))
    dtypes = [_dtypes.LONG_NAMES[kind] for _, kind in inputs[:3]]
    if len(set(dtypes)) > 1:
        raise UsageError(f"{name}: need q, k and v of one dtype, got {', '.join(dtypes)}")
    if any(bits.ndim != 4 for bits in (q, k, v)):
        raise UsageError(f"{name}: need q (batch, heads, queries, dim), k and v (batch, kv heads, keys, dim), got {shapes}")
    if q.shape[0] != k.shape[0] or k.shape[:3] != v.shape[:3] or q.shape[3] != k.shape[3] or q.shape[1] % max(1, k.shape[1]):
        raise UsageError(
            f"{name}: need one batch, q and k of one dim, k and v of as many heads and keys, and kv heads that divide heads, got {shapes}"
        )
    if not math.isfinite(scale):
        raise UsageError(f"{name}: need a finite scale, got {scale:g}")
    heads = q.shape[1] if mask is None or np.ndim(mask) < 4 or mask.shape[1] != 1 else 1
    seen = _mask(name, mask, (q.shape[0], heads, q.shape[2], k.shape[2]))
    outs = [np.empty(shape, _arrays.bits_dtype(dtype)) for shape in results]
    if not call_kernel(name, inputs, [(out, dtype) for out in outs], seen, scale, causal):
        raise UsageError(f"{name}: need memory for the call, got a refusal of {shapes}")
    return outs, dtype


def _library_of(name: str, array: Any) -> str:
    library = _arrays.library_of(array)
    of_numpy = isinstance(array, (np.ndarray, np.generic)) and not isinstance(array, np.ma.MaskedArray)
    if library not in ("numpy", "torch") or (library == "numpy" and not of_numpy):
        raise UsageError(f"{name}: need arrays of NumPy or torch, got {shown(type(array))}")
    return library


def adaptive_softmax(logits: Any, mask: Any = None, *, dim: int = -1) -> Any:
    """softmax(beta x) along a dimension, with beta from the entropy of softmax(x): Fig. 4 of "Softmax is not Enough
    (for Sharp Size Generalisation)", arXiv 2410.01104, without the paper's 1e-9.

        p = softcheck.adaptive_softmax(logits)

    logits   array of NumPy or torch, on the CPU, in any of softcheck's dtypes
    mask     bool, True = visible, of a shape that broadcasts to the logits'; or None
    returns  an array like logits: its rows add up to 1 within rounding. A row with a NaN or without a visible item is
             NaN
    error    at most what the contract "sum=blocks:32 entropy=exact" grants op adaptive_softmax; check() can judge it
    torch    autograd differentiates it once, through beta as well; hidden items have gradient 0

    Raises UsageError for arrays of another kind.
    """
    if _library_of("adaptive_softmax", logits) == "torch":
        from ._adaptive_torch import Softmax

        return Softmax.apply(logits, mask, dim)
    return _arrays.from_bits(*softmax_of_rows("adaptive_softmax", [logits], mask, dim), "numpy")


def adaptive_attention(q: Any, k: Any, v: Any, mask: Any = None, *, scale: float | None = None, causal: bool = False) -> Any:
    """Attention whose weights are adaptive_softmax of the scores scale q k, for each query.

        out = softcheck.adaptive_attention(q, k, v, causal=True)

    q        (batch, heads, queries, dim), NumPy's or torch's, on the CPU, in any of softcheck's dtypes
    k, v     (batch, kv heads, keys, dim of each), like q; kv heads divide heads
    mask     bool, True = visible, of a shape that broadcasts to (batch, heads, queries, keys); or None
    scale    1 / sqrt(dim) by default
    causal   query i sees the keys up to i + keys - queries
    returns  (batch, heads, queries, v's dim). A query that sees no key has 0
    error    at most what the contract "sum=blocks:128 masked=zero entropy=exact" grants op adaptive_attention
    torch    autograd differentiates it once, by q, k and v, through beta as well

    Raises UsageError for arrays of another kind, or shapes that do not fit.
    """
    library, *others = [_library_of("adaptive_attention", array) for array in (q, k, v)]
    if any(other != library for other in others):
        raise UsageError(f"adaptive_attention: need q, k and v of one library, got {', '.join([library, *others])}")
    dim = q.shape[-1] if q.ndim else 1
    scale = 1 / math.sqrt(max(1, dim)) if scale is None else number("scale", scale)
    causal = flag("causal", causal)
    if library == "torch":
        from ._adaptive_torch import Attention

        return Attention.apply(q, k, v, mask, scale, causal)
    shape = (*q.shape[:-1], *np.shape(v)[-1:])
    (out,), dtype = attention_of_heads("adaptive_attention", [q, k, v], mask, scale, causal, [shape])
    return _arrays.from_bits(out, dtype, library)

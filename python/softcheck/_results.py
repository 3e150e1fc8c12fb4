"""Results at hand: assert_output, reference, threshold."""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from . import _arrays, _library
from ._function import ATTENTION_GRADIENT_OPS, ATTENTION_OPS, ATTRIBUTES, INPUTS, LOSS_OPS, MERGE_OPS, TOP_P_OPS, TOPK_OPS, require_op, words_of
from ._library import UsageError
from .report import Report, Violation, report_of


def _tensors(
    op: str,
    inputs: Any,
    outputs: Any,
    mask: Any,
    theta: float,
    scale: float | None,
    causal: bool,
    attributes: dict[str, Any],
) -> _library.TensorCall:
    require_op(op)
    if op in (*MERGE_OPS, *TOPK_OPS, *ATTENTION_GRADIENT_OPS):
        raise UsageError(f"op: need one with an output for each row alone, got {op!r}: check() judges the function itself")
    if op in TOP_P_OPS:
        raise UsageError(f"op: need one without top_p and min_p, got {op!r}: check() judges the function itself")
    several = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    names = INPUTS[op]
    if len(several) != len(names):
        raise UsageError(f"inputs: need {', '.join(names)}, got {len(several)} arrays")
    tensors = [_tensor(name, array) for name, array in zip(names, several)]
    if attributes["class_weights"] is not None:
        if op not in LOSS_OPS:
            raise UsageError(f"class_weights: {op} has none")
        tensors.append(_tensor("class_weights", attributes["class_weights"]))
    if mask is not None:
        seen, dtype = _arrays.to_bits(mask)
        if dtype not in ("bool", "uint8"):
            raise UsageError(f"mask: need bool or uint8, got {dtype}")
        tensors.append(_library.Tensor(seen.view(np.uint8), "u8"))
    results = outputs if isinstance(outputs, (tuple, list)) else () if outputs is None else (outputs,)
    written = [_tensor(("output", "lse", "entropy")[min(i, 2)], array) for i, array in enumerate(results)]
    if scale is None:
        scale = 1.0
        if op in ATTENTION_OPS:
            scale = 1 / math.sqrt(max(1, tensors[0].array.shape[-1] if tensors[0].array.ndim else 1))
    given = _attributes(op, attributes)
    return _library.TensorCall(tensors, written, float(theta), float(scale), causal, given)


def _attributes(op: str, attributes: dict[str, Any]) -> dict[str, Any] | None:
    """Those of a loss; None for an op that has none."""
    if op in LOSS_OPS:
        return {name: type(usual)(attributes[name]) for name, usual in ATTRIBUTES.items()}
    for name, usual in ATTRIBUTES.items():
        if attributes[name] != usual:
            raise UsageError(f"{name}: {op} has none")
    return None


def _tensor(name: str, array: Any) -> _library.Tensor:
    try:
        bits, dtype = _arrays.to_bits(array)
    except TypeError as error:
        raise UsageError(f"{name}: {error}") from None
    if name == "labels":
        if dtype not in ("int32", "int64"):
            raise UsageError(f"labels: need int32 or int64, got {dtype}")
    elif dtype not in ("f64", "f32", "f16", "bf16"):
        raise UsageError(f"{name}: need float64, float32, float16 or bfloat16, got {dtype}")
    if any(step % bits.itemsize for step in bits.strides):
        bits = bits.copy()
    return _library.Tensor(bits, dtype)


def assert_output(
    op: str,
    inputs: Any,
    output: Any,
    *,
    contract: str | Sequence[str] | None = None,
    mask: Any = None,
    theta: float = 1.0,
    scale: float | None = None,
    causal: bool = False,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float = 0.0,
    class_weights: Any = None,
    ignore_index: int = -100,
    exempt: str | Sequence[str] | None = None,
    worst: int = 10,
) -> Report:
    """Asserts that a result lies within what its contract grants, value by value: in place of assert_close.

        softcheck.assert_output("softmax", x, my_softmax(x))
        softcheck.assert_output("attention", (q, k, v), out, causal=True)
        softcheck.assert_output("cross_entropy", (x, labels), losses, label_smoothing=0.1)

    inputs   logits (..., n); for attention q, k, v of (..., length, dim); for losses logits, labels (...) of int32 or
             int64[, upstream (...)], where losses have reduction "none": a value for each row
    output   of the op, along the last axis; for attention out, or (out, lse) or (out, lse, entropy)
    mask     bool, True = visible, broadcast as NumPy does
    scale    of attention; 1 / sqrt(dim) by default
    softcap  of losses: the logits x become softcap tanh(x / softcap), whose gradient is that by the logits
    class_weights  of losses: (n), finite and >= 0, of the logits' dtype or float32 (float64 for float64 logits). Rows
             are weighted as torch's reduction "none" has them; the z-loss is not

    Returns the report. Raises Violation (an AssertionError) that shows the worst rows; UsageError.
    """
    attributes = {
        "label_smoothing": label_smoothing,
        "z_loss": z_loss,
        "softcap": softcap,
        "ignore_index": ignore_index,
        "class_weights": class_weights,
    }
    call = _tensors(op, inputs, output, mask, theta, scale, causal, attributes)
    words = {"op": op, "contract": words_of(contract), "exempt": words_of(exempt), "worst": worst}
    report = report_of(_library.judge_tensors(call, words))
    if not report:
        raise Violation(report)
    return report


def reference(
    op: str,
    *inputs: Any,
    mask: Any = None,
    theta: float = 1.0,
    scale: float | None = None,
    causal: bool = False,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float = 0.0,
    class_weights: Any = None,
    ignore_index: int = -100,
    contract: str | Sequence[str] | None = None,
    which: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """The exact value of every element of an op's result, between two float64 arrays: lower <= exact <= upper.

        lower, upper = softcheck.reference("softmax", x)

    which      0 for the result; of attention 1 for lse and 2 for entropy
    contract   of it only masked= is read, and entropy= for adaptive ops
    """
    attributes = {
        "label_smoothing": label_smoothing,
        "z_loss": z_loss,
        "softcap": softcap,
        "ignore_index": ignore_index,
        "class_weights": class_weights,
    }
    call = _tensors(op, inputs, None, mask, theta, scale, causal, attributes)
    return _library.reference(call, which, {"op": op, "contract": words_of(contract)})


def threshold(
    op: str,
    *inputs: Any,
    contract: str | Sequence[str] | None = None,
    output: Any = None,
    mask: Any = None,
    theta: float = 1.0,
    scale: float | None = None,
    causal: bool = False,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float = 0.0,
    class_weights: Any = None,
    ignore_index: int = -100,
    which: int = 0,
) -> np.ndarray:
    """What the contract grants each element: |got - exact| <= threshold, in float64.

    0 where a value must be exact, infinite where nothing is promised, NaN where a value is right by what it is (a NaN,
    a fully masked row).

    output   an array of the result's dtype, where that is not what the op writes for such inputs
    """
    attributes = {
        "label_smoothing": label_smoothing,
        "z_loss": z_loss,
        "softcap": softcap,
        "ignore_index": ignore_index,
        "class_weights": class_weights,
    }
    call = _tensors(op, inputs, output, mask, theta, scale, causal, attributes)
    return _library.threshold(call, which, {"op": op, "contract": words_of(contract)})

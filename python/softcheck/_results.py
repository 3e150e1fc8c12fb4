"""Judges given results, without calling a kernel: assert_output, reference, threshold."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
from typing import TYPE_CHECKING, Any, Callable, Sequence, TypedDict, TypeVar, get_args

import numpy as np

from . import _abi, _arrays, _dtypes, _library
from ._function import op_named, words_of
from ._library import UsageError, flag, number, shown, whole
from ._ops import ATTRIBUTES, TENSORS, TERMS, Op
from ._words import OpName, Reduction
from .report import Report, Violation, report_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Function = TypeVar("Function", bound=Callable[..., Any])


class Attributes(TypedDict, total=False):
    """The parameters of assert_output, reference and threshold that describe an op's call, without its inputs."""

    mask: Any
    theta: Any
    scale: float | None
    causal: bool
    label_smoothing: float
    z_loss: float
    softcap: float
    class_weights: Any
    ignore_index: int
    reduction: Reduction
    reverse: bool
    lse_base2: bool
    k: Any
    renormalize: bool
    sigmoid: bool
    groups: int
    groups_kept: int
    group_items: int
    routed_scale: float
    top_p: Any
    min_p: Any
    window: tuple[int, int]
    sinks: Any
    alibi_slopes: Any
    bias: Any
    lse_gradient: Any
    causal_top_left: bool
    dropout_mask: Any
    dropout_scale: float
    sigmoid_bias: float | None


_USUAL: dict[str, Any] = {"mask": None, "theta": 1.0, "scale": None, "causal": False, **ATTRIBUTES}


def _with_attributes(function: Function) -> Function:
    """The function with the Attributes in its signature, each with its usual value, in place of **attributes."""
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=off) for name, off in _USUAL.items()]
    full = signature.replace(parameters=[*parameters, *own])
    known = {name for name, parameter in full.parameters.items() if parameter.kind is not parameter.VAR_POSITIONAL}

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True  # pytest shows the caller's line and the report, not this function
        unknown = [name for name in keywords if name not in known]
        if unknown:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {unknown[0]!r}")
        return function(*arguments, **keywords)

    call.__signature__ = full  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def _names(op: Op, count: int) -> tuple[str, ...]:
    """Names of the op's arrays; attention's gradient may come without the results of the forward pass."""
    if count == len(op.inputs):
        return op.inputs
    several = ", ".join(op.inputs)
    if op.is_attention_gradient:
        short = tuple(name for name in op.inputs if name not in ("out", "lse"))
        if count == len(short):
            return short
        several = ", ".join(short) + f", or {several}"
    raise UsageError(f"inputs: need {several}, got {count} arrays")


def _tensors(op: Op, inputs: Any, outputs: Any, attributes: dict[str, Any]) -> _abi.TensorCall:
    attributes = {**_USUAL, **attributes}
    several = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    for one in several:
        if isinstance(one, (tuple, list)):
            raise UsageError(f"inputs: need arrays ({', '.join(op.inputs)}), got a {type(one).__name__} among them")
    names = list(_names(op, len(several)))
    tensors = [_tensor(name, array) for name, array in zip(names, several)]
    if op.is_loss and not op.is_linear and attributes["class_weights"] is not None:
        tensors.append(_tensor("class_weights", attributes["class_weights"]))
    if op.chooses and attributes["bias"] is not None:
        tensors.append(_tensor("bias", attributes["bias"]))
    for name in ("mask", "dropout_mask"):
        if attributes[name] is None:
            continue
        seen, dtype = _bits(name, attributes[name])
        if dtype not in ("bool", "uint8"):
            raise UsageError(f"{name}: need bool or uint8, got {dtype}")
        tensors.append(_dtypes.Tensor(seen.view(np.uint8), "u8"))
        names.append(name)
    results = outputs if isinstance(outputs, (tuple, list)) else () if outputs is None else (outputs,)
    written = [_tensor(op.outputs[min(i, len(op.outputs) - 1)], array) for i, array in enumerate(results)]
    scale = attributes["scale"]
    if scale is None:
        scale = 1.0
        if op.is_attention:
            scale = 1 / math.sqrt(max(1, tensors[0].array.shape[-1] if tensors[0].array.ndim else 1))
    roles: list[int] = []
    if op.filters:
        roles = [0]
        for name, role in _abi.FILTER_ROLES.items():
            if getattr(attributes[name], "ndim", 0) > 0:
                tensors.append(_tensor("top_k" if name == "k" else name, attributes[name]))
                roles.append(role)
                attributes[name] = _USUAL[name]
    if op.has_sigmoid_bias and attributes["sigmoid_bias"] is None:
        attributes["sigmoid_bias"] = -math.log(max(1, *tensors[1].array.shape[-2:-1], 1))
    given = _attributes(op, attributes, written)
    if op.has_terms:
        for name in TERMS:
            if attributes[name] is not None:
                tensors.append(_tensor(name, attributes[name]))
                names.append(name)
        roles = [_abi.GRADIENT_ROLES[name] for name in names]
    theta, causal = number("theta", attributes["theta"]), flag("causal", attributes["causal"])
    return _abi.TensorCall(tensors, written, theta, number("scale", scale), causal, given, roles)


def _attributes(op: Op, attributes: dict[str, Any], written: list[_dtypes.Tensor]) -> dict[str, Any] | None:
    """The attributes of the op, as the library has them; None for an op that has none."""
    for name, off in ATTRIBUTES.items():
        if name not in op.attributes and not _is_off(attributes[name], off):
            raise UsageError(f"{name}: {op.name} has none")
    given: dict[str, Any] = {}
    for name, off in op.attributes.items():
        value = attributes[name]
        if name == "window":
            given["window_left_plus_1"], given["window_right_plus_1"] = (side + 1 for side in _window(value))
        elif name == "reduction":
            if not isinstance(value, str) or value not in get_args(Reduction):
                raise UsageError(f"reduction: need 'mean' or 'sum', got {shown(value)}")
            given["mean"] = int(value == "mean")
        elif name == "k":
            given["k"] = 0 if op.filters and value is None else _chosen(value, written)
        elif name == "sigmoid_bias":
            given[name] = number(name, value)
        elif name == "routed_scale":
            given[name] = 0.0 if value == off else number(name, value)
        elif name in _abi.GROUPS:
            usual = {"groups_kept": attributes["groups"], "group_items": 1}.get(name, 0) if attributes["groups"] else 0
            given[name] = whole(name, value or usual, 0, 2**31 - 1)
        elif name == "dropout_scale" and attributes["dropout_mask"] is None:
            if value != off:
                raise UsageError(f"dropout_scale: need dropout_mask too, got {shown(value)} and no mask")
        elif name not in TENSORS:
            given[name] = _CONVERTED[type(off)](name, value)
    return given or None


_CONVERTED: dict[type, Callable[[str, Any], Any]] = {
    float: number,
    int: lambda name, value: whole(name, value, -(2**63), 2**63 - 1),
    bool: lambda name, value: int(flag(name, value)),
}
"""Conversions of an attribute to the library's form, by the type of its usual value."""


def _is_off(value: Any, off: Any) -> bool:
    if off is None or value is None:
        return value is off
    try:
        return bool((tuple(value) if isinstance(off, tuple) else value) == off)
    except (TypeError, ValueError):  # a number instead of a pair, an array instead of a number
        return False


def _chosen(k: Any, written: list[_dtypes.Tensor]) -> int:
    """k, or the number of items that the output has."""
    if k is not None:
        return whole("k", k, 0, 2**31 - 1)
    if not written or written[-1].array.ndim == 0:
        raise UsageError("k: need how many items are chosen of each row, got None")
    return int(written[-1].array.shape[-1])


def _window(window: Any) -> tuple[int, int]:
    sides = tuple(window) if isinstance(window, (tuple, list)) else ()
    if len(sides) != 2 or any(not isinstance(side, numbers.Integral) or not -1 <= side < 2**62 for side in sides):
        raise UsageError(f"window: need (left, right), each a number of keys or -1 for all, got {shown(window)}")
    return int(sides[0]), int(sides[1])


def _bits(name: str, array: Any) -> tuple[np.ndarray, str]:
    try:
        return _arrays.to_bits(array)
    except (TypeError, RuntimeError) as error:  # torch's errors for a tensor that is sparse, or has no data
        raise UsageError(f"{name}: {error}") from None


def _tensor(name: str, array: Any) -> _dtypes.Tensor:
    bits, dtype = _bits(name, array)
    if name in ("labels", "ids", "top_k"):
        if dtype not in ("int32", "int64"):
            raise UsageError(f"{name}: need int32 or int64, got {dtype}")
    elif dtype not in _dtypes.LONG_NAMES:
        raise UsageError(f"{name}: need {_dtypes.FORMAT_NAMES}, got {dtype}")
    if any(step % bits.itemsize for step in bits.strides):
        bits = bits.copy()
    return _dtypes.Tensor(bits, dtype)


@_with_attributes
def assert_output(
    op: OpName,
    inputs: Any,
    output: Any,
    *,
    contract: str | Sequence[str] | None = None,
    exempt: str | Sequence[str] | None = None,
    worst: int = 10,
    **attributes: Unpack[Attributes],
) -> Report:
    """Asserts that each value of a result lies within the error that its contract grants. It replaces assert_close.

        softcheck.assert_output("softmax", x, my_softmax(x))
        softcheck.assert_output("attention", (q, k, v), out, causal=True)
        softcheck.assert_output("cross_entropy", (x, labels), losses, label_smoothing=0.1)
        softcheck.assert_output("attention_backward", (q, k, v, out, lse, dout), (dq, dk, dv), causal=True)
        softcheck.assert_output("attention_backward", (q, k, v, dout), (dq, dk, dv), causal=True)
        softcheck.assert_output("topk_softmax", x, (weights, ids), renormalize=True)
        softcheck.assert_output("top_p_softmax", x, probabilities, top_p=0.9, k=50, renormalize=True)
        softcheck.assert_output("merge_states", (outs, lses), (merged, merged_lse))

    inputs   logits (..., n), an op of rows works along the last axis; attention: q, k, v, each (..., length, dim);
             losses: logits, labels (...) of int32 or int64, and for gradients upstream (...), with reduction "none":
             one value for each row (cross_entropy_mean and its gradient have one number for the loss and upstream);
             attention_backward: q, k, v[, out, lse], out_gradient; merge_states: out (parts, ..., dim), lse (parts,
             ...)
    output   the op's result; attention: out, or (out, lse) or (out, lse, entropy); attention_backward: (dq, dk, dv),
             then dsinks (heads) if sinks are given and dbias, of the bias's own shape, if a bias is given. If both are
             given but only one gradient, an array of one dimension is dsinks. topk_softmax: (weights, ids), both (...,
             k), ids of int32 or int64; merge_states: (out, lse)
    mask     bool, True = visible, broadcast as NumPy does
    scale    of attention; 1 / sqrt(dim) by default
    k        of topk_softmax: the number of items chosen of each row; by default the number that ids has

    softcap  of losses: the logits x become softcap tanh(x / softcap), and the gradient is still by x; of attention and
             attention_backward: the same for the scores
    class_weights  of losses: (n), finite and >= 0, of the logits' dtype or float32 (float64 for float64 logits). They
                   weight
             rows as torch's reduction "none" does, but not the z-loss

    reduction  of cross_entropy_mean and its gradient: "mean" or "sum" over the rows that are not ignored

    Losses also take label_smoothing, z_loss and ignore_index; kl_divergence reverse; merges lse_base2; top-k
    renormalize, and as a router sigmoid, bias (n), groups, groups_kept (all), group_items (1) and routed_scale;
    top_p_softmax top_p, min_p and k (0: off), renormalize (top_p is a share of the k largest); each of
    them and theta may be an array (...) of a number for each row. attention and attention_backward take window (left,
    right; -1 is all), sinks (heads), alibi_slopes (heads), bias and causal_top_left; sigmoid_attention also
    sigmoid_bias, by default -ln of the number of keys; attention_backward also lse_gradient (like lse), and attention
    dropout_mask (batch, heads, queries, keys; True = kept) with dropout_scale, the factor of kept weights.
    With out and lse, attention_backward is judged as a function that read them, whatever errors they have. Without
    them it is judged as a function whose forward pass keeps the same contract.

    Returns the report. Raises Violation (an AssertionError), which shows the worst rows, or UsageError.
    """
    __tracebackhide__ = True  # pytest shows the caller's line and the report, not this function
    if output is None:
        raise UsageError("output: need an array, got None")
    call = _tensors(op_named(op), inputs, output, dict(attributes))
    words = {"op": op, "contract": words_of("contract", contract), "exempt": words_of("exempt", exempt), "worst": worst}
    own = (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), dict(attributes))
    outputs = output if isinstance(output, (tuple, list)) else (output,)
    again = functools.partial(tolerances_of, op, words_of("contract", contract), *own, outputs=outputs)
    report = report_of(_library.judge_tensors(call, words), tolerances=again)
    if not report:
        raise Violation(report)
    return report


@_with_attributes
def reference(
    op: OpName,
    *inputs: Any,
    contract: str | Sequence[str] | None = None,
    which: int = 0,
    **attributes: Unpack[Attributes],
) -> tuple[np.ndarray, np.ndarray]:
    """The exact value of every element of an op's result, between two float64 arrays: lower <= exact <= upper.

        lower, upper = softcheck.reference("softmax", x)
        lower, upper = softcheck.reference("attention_backward", q, k, v, dout, which=1)  # dk

    which      0 for the first result, 1 and 2 for the next ones (lse and entropy of attention, dk and dv, ids, lse of
               merge_states); 3 and 4 for dsinks and dbias
    contract   only its word masked= has an effect, and entropy= for adaptive ops
    """
    call = _tensors(op_named(op), inputs, None, dict(attributes))
    return _library.reference(call, whole("which", which, 0, 4), {"op": op, "contract": words_of("contract", contract)})


@_with_attributes
def threshold(
    op: OpName,
    *inputs: Any,
    contract: str | Sequence[str] | None = None,
    output: Any = None,
    which: int = 0,
    **attributes: Unpack[Attributes],
) -> np.ndarray:
    """The error that the contract grants each element: |got - exact| <= threshold, in float64.

        allowed = softcheck.threshold("attention_backward", q, k, v, dout, contract="sum=tree")  # of dq

    0 if a value must be exact, and infinite if the contract promises nothing. NaN if no distance decides: a NaN, a
    fully masked row, or an id, since equal and nearly equal items may be exchanged. The threshold is rounded down: a
    result within it is granted. Under subnormal=flushed a value that may have been flushed has its own size as
    threshold: a result of 0 is then allowed, and no other error.

    top_p_softmax: the thresholds are of the items that are kept exactly. assert_output grants more if a kernel may
    keep other items: next to a mass of top_p or a level of min_p the boundary item may be kept or not. If a kernel may
    have kept an item of value 0 and lost its weight, the other weights may be too large or too small by as much.

    output   an array of the result's dtype, if that is not the dtype that the op writes for such inputs
    """
    call = _tensors(op_named(op), inputs, output, dict(attributes))
    return _library.threshold(call, whole("which", which, 0, 4), {"op": op, "contract": words_of("contract", contract)})


def _line_above(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Of the lines atol + rtol x >= y with rtol >= 0 and atol >= 0 the one that is least at the mean of x. It is an
    edge of the upper hull of the points (x, y), of (0, 0), because atol >= 0, and of (max x, max y), because rtol >=
    0."""
    left, right = (0.0, float(y[x == 0].max(initial=0))), (float(x.max()), float(y.max()))
    middle, slope = float(x.mean()), 0.0
    while right[0] > left[0]:
        slope = (right[1] - left[1]) / (right[0] - left[0])
        above = y - slope * x
        i = int(above.argmax())
        point = (float(x[i]), float(y[i]))
        if above[i] <= left[1] - slope * left[0] or point in (left, right):
            break
        left, right = (point, right) if point[0] <= middle else (left, point)
    return slope, left[1] - slope * left[0]


def tolerances(lower: np.ndarray, upper: np.ndarray, threshold: np.ndarray) -> dict[str, float]:
    """The pair that grants |got - exact| <= threshold, lower <= exact <= upper; Report.suggested_tolerances says
    which."""
    # The threshold is rounded down, and the caller's exact value may be anywhere between lower and upper.
    allowed = np.nextafter(np.nextafter(threshold, np.inf) + (upper - lower), np.inf)
    numbers = np.isfinite(allowed)  # not where lower and upper are NaN or infinite
    if not numbers.any():
        return {"rtol": 0.0, "atol": 0.0}
    least, allowed = np.minimum(abs(lower), abs(upper))[numbers], allowed[numbers]
    rtol, atol = _line_above(least, allowed)
    atol = max(atol, 0.0)
    # The comparison rounds in float64, and so did the line.
    while (short := float((allowed - (atol + rtol * least)).max())) > 0:
        atol = float(np.nextafter(atol + short, np.inf))
    return {"rtol": rtol, "atol": atol}


def tolerances_of(
    op: Any,
    contract: str | None,
    own_inputs: tuple[Any, ...],
    own: dict[str, Any],
    *inputs: Any,
    which: int = 0,
    outputs: Sequence[Any] = (),
    **attributes: Any,
) -> dict[str, float]:
    """Report.suggested_tolerances of the inputs, or of the judged ones."""
    table = op_named(op)
    if table.filters:
        raise UsageError(f"suggested_tolerances: {op} may keep other items near its boundary, which no tolerance says")
    if not inputs and not own_inputs:
        raise UsageError(f"suggested_tolerances: this report keeps no inputs: need those of a test as arguments ({', '.join(table.inputs)})")
    words: dict[str, Any] = {**({} if inputs else own), **attributes, "contract": contract, "which": which}
    output = outputs[which] if not inputs and which < len(outputs) else None
    arrays = inputs or own_inputs
    return tolerances(*reference(op, *arrays, **words), threshold(op, *arrays, output=output, **words))

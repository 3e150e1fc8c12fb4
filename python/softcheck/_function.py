"""Calls a Python function as a kernel, through the C interface."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from . import _abi, _arrays, _dtypes, _library, _masks
from ._crash import crash_text
from ._gradients import gradients, inputs_of_forward
from ._ops import LONGEST, OPS, SEQUENCES, TENSORS, Op
from ._parameters import own_argument

_NAMES = {**_dtypes.FORMATS_BY_TYPE, (0, 32): "i32", (0, 64): "i64"}


def _bits_of(tensor: _abi.DLTensor) -> tuple[np.ndarray, str]:
    """The tensor's elements in place; a mask as bool, in new memory."""
    dimensions = tensor.ndim
    shape = tuple(tensor.shape[d] for d in range(dimensions))
    dtype = _NAMES.get((tensor.dtype.code, tensor.dtype.bits), "bool")
    integers = {"bool": np.uint8, "i32": np.int32, "i64": np.int64}
    kind = np.dtype(integers[dtype]) if dtype in integers else _arrays.bits_dtype(dtype)
    if not tensor.data or 0 in shape:
        array = np.empty(shape, kind)
    else:
        if tensor.strides:
            strides = [tensor.strides[d] * kind.itemsize for d in range(dimensions)]
        else:
            strides = [int(np.prod(shape[d + 1 :], dtype=np.int64)) * kind.itemsize for d in range(dimensions)]
        # From the first byte to the end of the last element.
        size = sum((n - 1) * step for n, step in zip(shape, strides)) + kind.itemsize
        memory = (ctypes.c_char * size).from_address(tensor.data + tensor.byte_offset)
        array = np.ndarray(shape, kind, memory, 0, strides)
    return (array != 0 if dtype == "bool" else array), dtype


@dataclass
class Request:
    """One call of a function: arrays as their bits (_arrays), and the parameters."""

    inputs: list[tuple[np.ndarray, str]]
    mask: np.ndarray | None
    outputs: list[tuple[np.ndarray, str]]
    theta: Any  # a number, or an array of one for each row
    scale: float
    causal: bool
    attributes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, call: _abi.Call, own_inputs: int) -> Request:
        inputs = [_bits_of(call.inputs[i].contents) for i in range(call.n_inputs)]
        behind = dict(zip(_abi.names_behind(call, own_inputs), inputs[own_inputs:]))
        mask = behind.pop("mask")[0] if "mask" in behind else None
        outputs = [_bits_of(call.outputs[i].contents) for i in range(call.n_outputs)]
        attributes = {**_abi.attributes_of(call), **behind}
        theta = attributes.pop("theta", call.theta)
        return cls(inputs[:own_inputs], mask, outputs, theta, call.scale, bool(call.causal), attributes)

    def copied(self) -> Request:
        """A copy outside the call's memory, which can be sent to another process."""
        return Request(
            [(array.copy(), dtype) for array, dtype in self.inputs],
            None if self.mask is None else self.mask.copy(),
            [(np.empty(array.shape, array.dtype), dtype) for array, dtype in self.outputs],
            _copied(self.theta),
            self.scale,
            self.causal,
            {name: _copied(value) for name, value in self.attributes.items()},
        )


def _is_array(value: Any) -> bool:
    return isinstance(value, tuple) and isinstance(value[0], np.ndarray)


def _copied(value: Any) -> Any:
    return (value[0].copy(), value[1]) if _is_array(value) else value


class WrongResult(Exception):
    """The function has returned something else than the call needs."""


class Refused(Exception):
    """The function does not support such calls."""


@dataclass
class Adapter:
    """How a function is called: the library of its arrays, and the other parameters that it takes.

    takes    softcheck's names of PARAMETERS to the function's own; a call that needs a name missing here is refused
    outputs  how many arrays it returns: attention's lse and entropy follow out; its gradient's are dq, dk and dv,
             and dsinks and dbias if the domain has these words
    refuses  exceptions that refuse a call; all others are crashes
    top_left causality always aligns the first query with the first key
    own      values of attributes (Op.attributes) that the function uses without a parameter for them: a reduction of
             "sum", log-sum-exps to base 2, weights of top-k divided by their sum
    follow   names of arguments whose values follow from a call (own_arguments)
    autograd the function is the forward one, and torch.autograd makes its gradients
    masks    the form in which it takes masks (_masks.passed)
    knows    "mask" and "bias" if the function knows them: it is not passed those of a call
    """

    function: Callable[..., Any]
    op: Op
    arrays: str = "numpy"
    takes: Mapping[str, str] = field(default_factory=dict)
    outputs: int = 1
    refuses: tuple[type[BaseException], ...] = ()
    device: str | None = None
    top_left: bool = False
    own: dict[str, Any] = field(default_factory=dict)
    follow: tuple[str, ...] = ()
    autograd: bool = False
    masks: str = "visible"
    knows: tuple[str, ...] = ()

    @property
    def called_with(self) -> tuple[str, ...]:
        """The arrays that the function gets by position."""
        return inputs_of_forward(self.op) if self.autograd else self.op.inputs

    @property
    def own_inputs(self) -> int:
        return len(self.op.inputs)

    @property
    def long_labels(self) -> bool:
        """torch's own losses need labels of int64; under autograd the function is likely to call one."""
        function = getattr(self.function, "func", self.function)
        return self.op.is_loss and self.arrays == "torch" and (self.autograd or _arrays.library_of(function) == "torch")

    def answer(self, request: Request) -> None:
        """Calls the function, and writes its results to the request's outputs.

        Raises Refused, WrongResult, and any exception of the function.
        """
        if len(request.outputs) > self.outputs:
            raise Refused
        if "mask" in self.knows:
            request.mask = None
        if "bias" in self.knows:
            request.attributes.pop("bias", None)
        if self._lacks(request):
            raise Refused
        arguments = [self._array(array, dtype) for array, dtype in request.inputs]
        if self.long_labels:
            at = self.op.inputs.index("labels")
            arguments[at] = arguments[at].long()
        keywords: dict[str, Any] = {}
        if "mask" in self.takes:
            keywords[self.takes["mask"]] = None if request.mask is None else self._mask(request, request.mask)
        for name in ("theta", "scale", "causal"):
            if name in self.takes:
                value = getattr(request, name)
                keywords[self.takes[name]] = self._array(*value) if _is_array(value) else value
        for name, usual in self.op.attributes.items():
            if name in self.takes:
                value = request.attributes.get(name, usual)
                keywords[self.takes[name]] = self._array(*value) if _is_array(value) else value
        keywords |= self._sequences(request)
        keywords |= {name: own_argument(name, tuple(array.shape for array, _ in request.inputs)) for name in self.follow}
        if self.takes_one_of_two and request.mask is not None and request.causal:
            queries, keys = request.mask.shape[-2:]
            seen = request.mask & np.tri(queries, keys, 0 if self.top_left else keys - queries, dtype=bool)
            keywords |= {self.takes["mask"]: self._mask(request, seen), self.takes["causal"]: False}
        if "out" in self.takes:
            outs = [self._array(array, dtype) for array, dtype in request.outputs]
            keywords[self.takes["out"]] = outs[0] if len(outs) == 1 else tuple(outs)
        try:
            if self.autograd:
                results = gradients(self.function, self.called_with, arguments, keywords)
            else:
                results = self.function(*arguments, **keywords)
        except self.refuses as error:
            raise Refused from error
        if "out" not in self.takes:
            self._write(results, request.outputs)

    @property
    def takes_one_of_two(self) -> bool:
        """torch's attention takes a mask or causality. For a call with both, its mask contains both."""
        return self.takes.get("mask") == "attn_mask" and self.takes.get("causal") == "is_causal"

    def _sequences(self, request: Request) -> dict[str, Any]:
        """The arrays of the sequences' first positions, and the largest lengths, under the function's names."""
        if not any(name in request.attributes for name in SEQUENCES):
            return {}
        given = {name: request.attributes[name][0] for name in SEQUENCES if name in request.attributes}
        if "cu_seqlens_k" not in given:
            given["cu_seqlens_k"] = np.concatenate([[0], np.cumsum(given["lengths"])]).astype(np.int32)
        keywords = {self.takes[n]: self._array(given[n], "i32") for n in SEQUENCES if n in self.takes and n in given}
        for name, starts in LONGEST.items():
            if name in self.takes and starts in given:
                keywords[self.takes[name]] = int(np.diff(given[starts]).max(initial=0))
        return keywords

    def _lacks(self, request: Request) -> bool:
        """Does the call need a parameter that the function does not take?"""
        usual_scale = 1.0
        if self.op.is_attention:
            usual_scale = 1 / math.sqrt(max(1, request.inputs[0][0].shape[-1]))
        needs = {
            "mask": request.mask is not None,
            "theta": request.theta != 1,
            "scale": request.scale != usual_scale,
            "causal": request.causal != self.own.get("causal", False),
        }
        needs |= {name: name in request.attributes for name in TENSORS}
        for name, usual in self.op.attributes.items():
            if name not in (*TENSORS, "k", "sigmoid_bias", *_abi.GROUPS):  # a function that does not take one of these has the domain's
                needs[name] = request.attributes.get(name, usual) != self.own.get(name, usual)
        if self.top_left:
            needs["causal_top_left"] = False
        return any(needed and name not in self.takes for name, needed in needs.items())

    def _array(self, array: np.ndarray, dtype: str) -> Any:
        result = _arrays.from_bits(array, dtype, self.arrays)
        return result if self.device is None else result.to(self.device)

    def _mask(self, request: Request, seen: np.ndarray) -> Any:
        result = _masks.passed(seen, self.masks, request.inputs[0][1], self.arrays)
        return result if self.device is None else result.to(self.device)

    def _write(self, results: Any, outputs: Sequence[tuple[np.ndarray, str]]) -> None:
        several = isinstance(results, (tuple, list))
        if several and len(results) < len(outputs):
            raise WrongResult(f"need {len(outputs)} arrays, got {len(results)}")
        if not several and len(outputs) > 1:
            raise WrongResult(f"need {len(outputs)} arrays, got one {type(results).__name__}")
        for result, (output, dtype) in zip(results if several else (results,), outputs):
            try:
                got, got_dtype = _arrays.to_bits(result)
            except TypeError as error:
                raise WrongResult(str(error)) from None
            if self.op.of_calls and got.shape == () and output.shape == (1,):  # one number
                got = got.reshape(1)
            if got.shape != output.shape:
                raise WrongResult(f"need shape {output.shape}, got {got.shape}")
            if dtype == "i32" and got_dtype == "int64":  # the ids of torch.topk and NumPy
                got, got_dtype = np.clip(got, -(2**31), 2**31 - 1).astype(np.int32), "i32"
            if got_dtype == "int32":
                got_dtype = "i32"
            if got_dtype != dtype:
                row_value = dtype == "f32" and self.op.row_values
                hint = f"; out_dtype={got_dtype!r} asks for that" if row_value else ""
                raise WrongResult(f"need dtype {dtype}, got {got_dtype}{hint}")
            output[...] = got


def require_device(device: str) -> None:
    """Raises UsageError if torch cannot put an array there. It starts the device's driver: do not fork afterwards."""
    import torch

    try:
        torch.empty(0, device=device)
    except Exception as error:  # torch raises several kinds for this
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise _library.UsageError(f"device: torch cannot use {device!r}: {reason}") from None


def op_named(op: str) -> Op:
    """Raises UsageError for an op that does not exist."""
    if not isinstance(op, str) or op not in OPS:
        raise _library.UsageError(f"op: need one of {', '.join(OPS)}, got {_library.shown(op)}")
    return OPS[op]


def words_of(name: str, value: str | Sequence[str] | None, separator: str = " ") -> str | None:
    """The words as one text; value is that text or a list of words. name is the argument's, for errors."""
    if value is None or isinstance(value, str):
        return value
    words = list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(word, str) for word in words):
        raise _library.UsageError(f"{name}: need words in one text, or one by one, got {_library.shown(value)}")
    return separator.join(words)


def fill_new_memory() -> None:
    """Makes malloc fill the memory that it returns as the judge fills outputs (Filling::output): a value that the
    function never wrote is then a wrong one, and the report names the cause. Otherwise it may be an earlier call's."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        m_perturb, filling = -6, 0x7B
        mallopt(m_perturb, filling ^ 0xFF)  # malloc writes the complement


class ForkedCall:
    """The function that the library calls in a fork of this process, or under isolation "none" in this process."""

    def __init__(self, adapter: Adapter, in_process: bool) -> None:
        self._adapter = adapter
        self._in_process = in_process
        self._process = os.getpid()

    def __call__(self, call: Any, _context: Any) -> int:
        if os.getpid() != self._process:
            # A fork. The library has called Python's after_fork, without which no line of Python may run: if another
            # thread waited for the interpreter, the first line would wait for that thread, which the fork lacks.
            self._process = os.getpid()
            _arrays.quiet_threads()
            fill_new_memory()
            # Replacements of them, such as pytest's, wrote to files that are closed in the fork.
            sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115: until the process ends
        request = None
        try:
            request = Request.of(call.contents, self._adapter.own_inputs)
            self._adapter.answer(request)
            return 0
        except Refused:
            return _abi.CALL_REFUSED
        except WrongResult as error:
            return self._ended(f"softcheck: the function's result: {error}\n", _abi.CALL_MALFORMED)
        except BaseException as error:  # noqa: BLE001: whatever it is, it must not cross into C
            inputs = None if request is None else request.inputs
            return self._ended(crash_text(error, inputs, self._adapter.arrays, not self._in_process), _abi.CALL_CRASHED)

    def _ended(self, text: str, code: int) -> int:
        if self._in_process:
            _library.printed(text)
            return code
        os.write(2, text.encode(errors="replace"))
        if code == _abi.CALL_CRASHED:
            os._exit(1)
        return code

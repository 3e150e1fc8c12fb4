"""The structures of softcheck's kernel ABI (softcheck_kernel.h, DLPack's tensors) through ctypes."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Sequence

if TYPE_CHECKING:
    from ._dtypes import Tensor

# The values that a kernel's function returns: 0, a refusal, or a kind of failure.
CALL_CRASHED = -1000001
CALL_TIMED_OUT = -1000002
CALL_MALFORMED = -1000003
CALL_REFUSED = 1


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Call(ctypes.Structure):
    _fields_ = [
        ("abi_version", ctypes.c_uint32),
        ("n_inputs", ctypes.c_uint32),
        ("n_outputs", ctypes.c_uint32),
        ("inputs", ctypes.POINTER(ctypes.POINTER(DLTensor))),
        ("outputs", ctypes.POINTER(ctypes.POINTER(DLTensor))),
        ("theta", ctypes.c_double),
        ("scale", ctypes.c_double),
        ("causal", ctypes.c_int32),
        ("stream", ctypes.c_void_p),
    ]


class Attributes(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("window_left_plus_1", ctypes.c_int64),
        ("window_right_plus_1", ctypes.c_int64),
        ("softcap", ctypes.c_double),
        ("label_smoothing", ctypes.c_double),
        ("z_loss", ctypes.c_double),
        ("top_p", ctypes.c_double),
        ("min_p", ctypes.c_double),
        ("causal_top_left", ctypes.c_int32),
        ("lse_base2", ctypes.c_int32),
        ("renormalize", ctypes.c_int32),
        ("mean", ctypes.c_int32),
        ("k", ctypes.c_int32),
        ("interleaved_heads", ctypes.c_int32),
        ("ignore_index", ctypes.c_int64),
        ("page_size", ctypes.c_int64),
        ("dropout_scale", ctypes.c_double),
        ("sigmoid_bias", ctypes.c_double),
        ("reverse", ctypes.c_int32),
        ("sigmoid", ctypes.c_int32),
        ("groups", ctypes.c_int32),
        ("groups_kept", ctypes.c_int32),
        ("group_items", ctypes.c_int32),
        ("reserved_2", ctypes.c_int32),
        ("routed_scale", ctypes.c_double),
    ]


class Call2(ctypes.Structure):
    """What a call of version 2 is: its first member is one of version 1."""

    _fields_ = [
        ("call", Call),
        ("op", ctypes.c_uint32),
        ("input_roles", ctypes.POINTER(ctypes.c_uint32)),
        ("attributes", ctypes.POINTER(Attributes)),
    ]


_ROLES = {
    1: "mask",
    8: "lse_gradient",
    11: "class_weights",
    13: "sinks",
    14: "alibi_slopes",
    15: "bias",
    16: "cu_seqlens_q",
    17: "cu_seqlens_k",
    18: "block_table",
    19: "lengths",
    20: "dropout_mask",
}
# A router's numbers of groups.
GROUPS = ("groups", "groups_kept", "group_items")
# Sampling: the numbers of each row, by the names of the parameters.
FILTER_ROLES = {"k": 22, "top_p": 23, "min_p": 24, "theta": 25}
# The roles of attention's gradient, by the names of its arrays.
GRADIENT_ROLES = {"q": 2, "k": 3, "v": 4, "out": 5, "lse": 6, "out_gradient": 7, "q2": 29, "k2": 30, "lambdas": 31}
GRADIENT_ROLES |= {name: role for role, name in _ROLES.items()}


def attributes_of(call: Call) -> dict[str, Any]:
    """The attributes of a call of version 2: of losses, merges, top-k, sampling and attention. Empty for a call of
    version 1."""
    if call.abi_version != 2:
        return {}
    attributes = ctypes.cast(ctypes.pointer(call), ctypes.POINTER(Call2)).contents.attributes.contents
    numbers = ("label_smoothing", "z_loss", "ignore_index", "softcap", "k", "top_p", "min_p", "sigmoid_bias", *GROUPS)
    found = {name: getattr(attributes, name) for name in numbers}
    flags = ("causal_top_left", "lse_base2", "renormalize", "reverse", "sigmoid")
    found |= {name: bool(getattr(attributes, name)) for name in flags}
    found["routed_scale"] = attributes.routed_scale or 1.0
    found["dropout_scale"] = attributes.dropout_scale or 1.0
    found["window"] = (attributes.window_left_plus_1 - 1, attributes.window_right_plus_1 - 1)
    found["reduction"] = "mean" if attributes.mean else "sum"
    return found


def names_behind(call: Call, own_inputs: int) -> list[str]:
    """The names of the inputs that follow the op's own: "mask", or the names of version 2."""
    if call.abi_version != 2:
        return ["mask"] * (call.n_inputs - own_inputs)
    roles = ctypes.cast(ctypes.pointer(call), ctypes.POINTER(Call2)).contents.input_roles
    names = {**_ROLES, **{role: name for name, role in FILTER_ROLES.items()}}
    return [names[roles[i]] for i in range(own_inputs, call.n_inputs)]


class TensorCall:
    """A softcheck_call with the caller's tensors; of version 2 if it has attributes, which may name its inputs'
    roles."""

    def __init__(
        self,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        theta: float,
        scale: float,
        causal: bool,
        attributes: dict[str, Any] | None = None,
        roles: Sequence[int] = (),
    ) -> None:
        self._keep = (inputs, outputs)
        pointer = ctypes.POINTER(DLTensor)
        self._inputs = (pointer * max(len(inputs), 1))(*(ctypes.pointer(t.tensor) for t in inputs))
        self._outputs = (pointer * max(len(outputs), 1))(*(ctypes.pointer(t.tensor) for t in outputs))
        self.call = Call(1, len(inputs), len(outputs), self._inputs, self._outputs, theta, scale, int(causal), None)
        if attributes is not None:
            self._attributes = Attributes(size=ctypes.sizeof(Attributes), **attributes)
            self.call.abi_version = 2
            # When it judges given results, the library reads the roles of attention's gradient only, and no op.
            self._roles = (ctypes.c_uint32 * max(len(roles), 1))(*roles)
            self._whole = Call2(self.call, 0, self._roles, ctypes.pointer(self._attributes))
            self.call = self._whole.call

"""A counterexample as a test to paste."""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any, Iterable, Mapping, NamedTuple

import numpy as np

from ._dtypes import LONG_NAMES, OF_BITS
from ._library import UsageError
from ._ops import ATTRIBUTES, OPS, SEQUENCES
from ._parameters import own_argument

# Properties of one call with compact arrays, and claims about its values other than the op's own: assert_output can
# check these.
_OF_ONE_CALL = ("Kernel.EveryValueLiesWithinItsThreshold", "Kernel.AFullyMaskedRowIsAsDeclared", "Kernel.ANanLogitMakesItsRowNan")
_RULES = ("kernel.nan_row", "kernel.infinite_row", "kernel.masked_row")


class _Maker(NamedTuple):
    """How a library's arrays are written: its import, the function that takes a list, and the module that has its
    dtypes."""

    line: str
    array: str
    zeros: str
    dtypes: str


_MAKERS = {
    "numpy": _Maker("import numpy as np", "np.array", "np.zeros", "np"),
    "torch": _Maker("import torch", "torch.tensor", "torch.zeros", "torch"),
    "jax": _Maker("import jax.numpy as jnp", "jnp.array", "jnp.zeros", "jnp"),
    "mlx": _Maker("import mlx.core as mx", "mx.array", "mx.zeros", "mx"),
    "tensorflow": _Maker("import tensorflow as tf", "tf.constant", "tf.zeros", "tf"),
    "cupy": _Maker("import cupy as cp", "cp.array", "cp.zeros", "cp"),
}
_INTEGERS = {"i32": "int32", "i64": "int64"}


class Told(NamedTuple):
    """What a test needs in addition to the counterexample.

    function  the function's name in the caller's program
    takes     softcheck's names of parameters to the function's own
    again     the call of check() that tries the counterexample again
    claim     the claim that fails on it
    follow    the function's arguments whose values follow from a call: dim, axis, enable_gqa
    autograd  the function is the forward one
    as_it_is  the function is passed the mask of the call, as True for visible items, and groups heads as assert_output does
    """

    function: str
    op: str
    arrays: str
    takes: Mapping[str, str]
    device: str | None
    exempt: str | None
    contract: str | None
    again: str
    claim: str
    follow: tuple[str, ...] = ()
    autograd: bool = False
    as_it_is: bool = True


def _number(value: Any) -> str:
    """The number as Python reads it back: repr is the shortest such decimal."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return repr(value)


def _list(values: Any) -> str:
    """A nested list; a run of one value is a product."""
    if values and isinstance(values[0], list):
        return f"[{', '.join(map(_list, values))}]"
    parts: list[str] = []
    plain: list[str] = []
    for text, run in itertools.groupby(map(_number, values)):
        count = len(list(run))
        if count < 5:
            plain += [text] * count
            continue
        parts += [f"[{', '.join(plain)}]"] * bool(plain) + [f"[{text}] * {count}"]
        plain = []
    parts += [f"[{', '.join(plain)}]"] * bool(plain or not parts)
    return " + ".join(parts)


def _array(tensor: Mapping[str, Any], told: Told) -> str:
    maker, dtype, shape = _MAKERS[told.arrays], tensor["dtype"], tuple(tensor["shape"])
    long = "bool" if dtype == "u8" else _INTEGERS.get(dtype) or LONG_NAMES[dtype]
    owner = "ml_dtypes" if told.arrays in ("numpy", "cupy") and dtype in OF_BITS else maker.dtypes
    words = [f"dtype={owner}.{'bool_' if long == 'bool' and told.arrays not in ('torch', 'tensorflow') else long}"]
    if told.device is not None:
        words.append(f"device={_text(told.device)}")
    if 0 in shape:
        return f"{maker.zeros}({', '.join([repr(shape), *words])})"
    numbers = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, None: math.nan}
    values = [numbers[v] if v is None or isinstance(v, str) else v for v in tensor["values"]]
    kind: type = bool if long == "bool" else int if dtype in _INTEGERS else float
    values = np.array([kind(v) for v in values], dtype=object).reshape(shape).tolist()
    return f"{maker.array}({_list(values) if shape else _number(values)}, {', '.join(words)})"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _keywords(words: Iterable[tuple[str, str]]) -> str:
    return "".join(f", {name}={value}" for name, value in words)


_PARAMETERS = {"slopes": "alibi_slopes", "dropout": "dropout_mask"}
"""The parameters whose arrays have other names in a counterexample."""


def _by_values(told: Told, found: Mapping[str, Any]) -> list[str]:
    """Lines that make the arrays, call the function and judge its result."""
    op = OPS[told.op]
    tensors = {tensor["name"]: tensor for tensor in found["inputs"]}
    lines = [f"{name} = {_array(tensor, told)}" for name, tensor in tensors.items()]
    given: dict[str, str] = {_PARAMETERS.get(name, name): name for name in tensors if name not in op.inputs}
    if op.is_attention:
        given |= {"scale": repr(found["scale"]), "causal": repr(found["causal"])}
    else:
        given["theta"] = repr(found["theta"])
    usual = {"mask": "None", "theta": "1.0", "causal": "False"}
    for name, value in op.attributes.items():
        value = (found.get("attributes") or {}).get(name, value)
        given.setdefault(name, repr(tuple(value) if isinstance(value, list) else value))
        usual[name] = repr(ATTRIBUTES[name])
    arrays = ", ".join(op.inputs)
    asked = [(own, given.get(name, "None")) for name, own in told.takes.items()]
    asked += [(name, repr(own_argument(name, tuple(tuple(tensor["shape"]) for tensor in tensors.values())))) for name in told.follow]
    judged = [(name, value) for name, value in given.items() if value != usual.get(name)]
    judged += [(name, _text(value)) for name, value in (("contract", told.contract), ("exempt", told.exempt)) if value]
    lines.append(f"output = {told.function}({arrays}{_keywords(asked)})")
    inputs = f"({arrays})" if len(op.inputs) > 1 else arrays
    return [*lines, f"softcheck.assert_output({_text(told.op)}, {inputs}, output{_keywords(judged)})"]


def as_test(told: Told, found: Mapping[str, Any]) -> str:
    inputs = found.get("inputs") or ()
    is_listed = bool(inputs) and all(tensor["values"] is not None for tensor in inputs)
    is_compact = not re.search(r" in=| layout=[1-9]", found["case"])
    # torch's attention does not take both: the judge passed one mask.
    is_merged = told.takes.get("causal") == "is_causal" and found["causal"] and any(tensor["name"] == "mask" for tensor in inputs)
    is_plain = "out" not in told.takes and not is_merged and not told.autograd and told.as_it_is and not any(tensor["name"] in SEQUENCES for tensor in inputs)
    is_value = found["property"] in _OF_ONE_CALL and told.claim in (*OPS[told.op].claims, *_RULES)
    if is_listed and is_compact and is_plain and is_value:
        body = _by_values(told, found)
    elif told.again:
        body = [f"{told.again}.raise_for_verdict()"]
    else:
        raise UsageError("as_test: need a counterexample of a Python function, got one of a plug-in's")
    text = "\n".join(body)
    maker = _MAKERS[told.arrays]
    imports = {
        maker.line: f"{maker.dtypes}." in text,
        "import functools": "functools." in text,
        "import jax": "jax" == told.arrays and "float64" in text,
        "import ml_dtypes": "ml_dtypes." in text,
        "import softcheck": True,
    }
    head = sorted((line for line, needed in imports.items() if needed), key=lambda line: line.split()[1])
    if names := [name for name in ("inf", "nan") if re.search(rf"\b{name}\b(?!=)", re.sub(r"""(['"]).*?\1""", "", text))]:
        head.insert(0, f"from math import {', '.join(names)}")
    if imports["import jax"]:
        head += ["", 'jax.config.update("jax_enable_x64", True)']
    name = re.sub(r"\W+", "_", re.sub(r"^functools\.partial\((\w+).*", r"\1", told.function)).strip("_")
    return "\n".join([*head, "", "", f"def test_{name}_on_a_counterexample():", *(f"    {line}" for line in body), ""])

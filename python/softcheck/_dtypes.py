"""The element types, as the library's tables have them, and tensors of them."""

from __future__ import annotations

import ctypes

import numpy as np

from ._abi import DLDataType, DLDevice, DLTensor
from ._library import describe

_CPU = 1  # kDLCPU
_INT, _UINT, _FLOAT = 0, 1, 2  # kDLInt and the like

# The name of softcheck's command, that of NumPy or ml_dtypes, DLPack's code and bits.
_FORMATS = [(dtype["name"], dtype["array_dtype"], dtype["dlpack_code"], dtype["bits"]) for dtype in describe()["dtypes"]]
FORMAT_NAMES = ", ".join(long for _, long, _, _ in _FORMATS[:-1]) + " or " + _FORMATS[-1][1]
# softcheck's names by both.
DTYPES = {long: short for short, long, _, _ in _FORMATS} | {short: short for short, _, _, _ in _FORMATS}
LONG_NAMES = {short: long for short, long, _, _ in _FORMATS}
FORMATS_BY_TYPE = {(code, bits): short for short, _, code, bits in _FORMATS}
# Of which NumPy has no type: their arrays are of their bits, and ml_dtypes has the types.
OF_BITS = frozenset(short for short, _, code, _ in _FORMATS if code != _FLOAT)
_TYPES = {short: (code, bits) for short, _, code, bits in _FORMATS} | {"int64": (_INT, 64), "int32": (_INT, 32)}


def bits_dtype(name: str) -> np.dtype:
    """The NumPy type that stands for a softcheck dtype; one of OF_BITS as an unsigned integer."""
    return np.dtype(f"uint{_TYPES[name][1]}" if name in OF_BITS else LONG_NAMES[name])


class Tensor:
    """A DLTensor over a NumPy array, which it keeps alive. A dtype that NumPy has not comes as its bits."""

    def __init__(self, array: np.ndarray, dtype: str) -> None:
        self.array = array
        code, bits = _TYPES[dtype] if dtype in _TYPES else (_UINT, 8)
        dimensions = array.ndim
        self._shape = (ctypes.c_int64 * max(dimensions, 1))(*array.shape)
        self._strides = (ctypes.c_int64 * max(dimensions, 1))(*(s // array.itemsize for s in array.strides))
        self.tensor = DLTensor(
            data=array.ctypes.data if array.size else None,
            device=DLDevice(_CPU, 0),
            ndim=dimensions,
            dtype=DLDataType(code, bits, 1),
            shape=self._shape,
            strides=self._strides,
            byte_offset=0,
        )

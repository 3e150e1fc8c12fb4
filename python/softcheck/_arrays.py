"""Arrays of any library as NumPy arrays of the same bits, and back. Formats that NumPy lacks are unsigned integers
there."""

from __future__ import annotations

import functools
import importlib.util
import sys
from typing import Any, Callable, get_args

import numpy as np

from ._dtypes import DTYPES, FORMAT_NAMES, LONG_NAMES, OF_BITS, bits_dtype
from ._library import UsageError, shown
from ._words import Arrays

# Libraries whose processes may not be forked: they have threads of their own, or a device.
NOT_FORKED = frozenset({"jax", "mlx", "tensorflow", "cupy"})
# Libraries that compile a function for each shape of its arguments.
COMPILED_BY_SHAPE = frozenset({"jax"})
_CPU = 1  # DLPack's kDLCPU
LIBRARIES = get_args(Arrays)


def dtype_of(name: Any, argument: str = "dtype") -> str:
    """ "f64", "bf16", "e4m3" and the like of a dtype's name, a NumPy dtype or any library's.

    Raises UsageError naming what exists.
    """
    text = name if isinstance(name, str) else getattr(name, "name", None) or str(name)
    if isinstance(name, type):
        text = getattr(name, "__name__", text)
    text = text.rsplit(".", 1)[-1].strip("'>")  # "torch.float32", "<class 'jax.numpy.float32'>"
    if text in DTYPES:
        return DTYPES[text]
    raise UsageError(f"{argument}: need {FORMAT_NAMES}, got {shown(name)}")


def library_of(array_or_dtype: Any) -> str:
    """The name of the library of an array, a dtype or a function; "numpy" if it is unknown."""
    while isinstance(array_or_dtype, functools.partial):
        array_or_dtype = array_or_dtype.func
    kind = array_or_dtype if isinstance(array_or_dtype, type) else type(array_or_dtype)
    for module in (getattr(array_or_dtype, "__module__", None), kind.__module__):
        name = (module or "").split(".")[0]
        name = {"jaxlib": "jax", "cupyx": "cupy"}.get(name, name)
        if name in LIBRARIES and name != "numpy":
            return name
    return "numpy"


def require_installed(library: str) -> None:
    """Raises UsageError if arrays of the library cannot be made."""
    if library not in sys.modules and importlib.util.find_spec(library) is None:
        raise UsageError(f"arrays: need {library} to be installed, got an environment without it")


def named_dtype(dtype: str) -> np.dtype:
    """The type with a format's own numbers: NumPy's, or that of ml_dtypes."""
    name = LONG_NAMES[dtype]
    if dtype not in OF_BITS:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError(f"{name} in NumPy arrays needs ml_dtypes: pip install ml_dtypes") from None
    return np.dtype(getattr(ml_dtypes, name))


def _is_of_bits(array: np.ndarray, dtype: str) -> bool:
    return dtype in OF_BITS and array.dtype == bits_dtype(dtype)


def _numpy_from_bits(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.view(named_dtype(dtype)) if _is_of_bits(array, dtype) else array


def _torch_from_bits(array: np.ndarray, dtype: str) -> Any:
    import torch

    if _is_of_bits(array, dtype):  # torch has no uint16 that it reads from NumPy everywhere
        signed = array.view(np.dtype(f"int{8 * array.itemsize}"))
        return torch.from_numpy(signed).view(getattr(torch, LONG_NAMES[dtype]))
    return torch.from_numpy(array)


def _jax_from_bits(array: np.ndarray, dtype: str) -> Any:
    import jax.numpy

    result = jax.numpy.asarray(_numpy_from_bits(array, dtype))
    if dtype == "f64" and result.dtype != np.float64:
        raise ValueError('dtype: JAX has float64 only with jax.config.update("jax_enable_x64", True)')
    return result


def _mlx_from_bits(array: np.ndarray, dtype: str) -> Any:
    import mlx.core

    result = mlx.core.array(np.ascontiguousarray(array))
    if not _is_of_bits(array, dtype):
        return result
    if not hasattr(mlx.core, LONG_NAMES[dtype]):
        raise ValueError(f"dtype: MLX has no {LONG_NAMES[dtype]}")
    return result.view(getattr(mlx.core, LONG_NAMES[dtype]))


def _tensorflow_from_bits(array: np.ndarray, dtype: str) -> Any:
    import tensorflow

    return tensorflow.constant(_numpy_from_bits(np.ascontiguousarray(array), dtype))


def _cupy_from_bits(array: np.ndarray, dtype: str) -> Any:
    import cupy

    return cupy.asarray(_numpy_from_bits(array, dtype))


_FROM_BITS: dict[str, Callable[[np.ndarray, str], Any]] = {
    "numpy": _numpy_from_bits,
    "torch": _torch_from_bits,
    "jax": _jax_from_bits,
    "mlx": _mlx_from_bits,
    "tensorflow": _tensorflow_from_bits,
    "cupy": _cupy_from_bits,
}


def from_bits(array: np.ndarray, dtype: str, library: str) -> Any:
    """An array of the library with the same elements; over the same memory for numpy and torch.

    array    any shape and strides; a format that NumPy lacks as its bits, a mask as bool
    dtype    one of softcheck's, or "bool"
    """
    if library not in _FROM_BITS:
        raise ValueError(f"arrays: need one of {', '.join(LIBRARIES)}, got {library!r}")
    return _FROM_BITS[library](array, dtype)


def _bits_of_torch(array: Any) -> tuple[np.ndarray, str]:
    import torch

    array = array.detach().cpu()
    dtype = DTYPES.get(str(array.dtype).rsplit(".", 1)[-1])
    if dtype in OF_BITS:
        signed = torch.int16 if array.element_size() == 2 else torch.int8
        return array.view(signed).numpy().view(bits_dtype(dtype)), dtype
    result = array.numpy()
    return result, DTYPES.get(result.dtype.name, result.dtype.name)


def _from_dlpack(array: Any) -> np.ndarray:
    """An array over the same memory, or a copy of one on a device. The library copies it after the work in its
    queue."""
    kind, number = getattr(array, "__dlpack_device__", lambda: (_CPU, 0))()
    if kind == _CPU:
        return np.from_dlpack(array)
    try:
        return np.from_dlpack(array, device="cpu", copy=True)
    except (TypeError, BufferError) as error:
        name = type(array).__name__
        raise TypeError(
            f"need an array that can be copied to the CPU, got {name} on DLPack's device ({int(kind)}, {number}): {error}. "
            "NumPy 2.1 asks an array's library for that; torch, CuPy and JAX arrays need no DLPack"
        ) from None


def to_bits(array: Any) -> tuple[np.ndarray, str]:
    """The array's elements in NumPy, and their dtype: one of softcheck's (formats that NumPy lacks as their bits),
    "bool", or NumPy's name for any other. Arrays on a device are copied to the CPU, after the work of their stream.

    Raises TypeError for anything but an array.
    """
    library = library_of(array)
    if library == "torch":
        return _bits_of_torch(array)
    if library == "mlx":
        import mlx.core

        if array.dtype == mlx.core.bfloat16:
            return np.array(array.view(mlx.core.uint16)), "bf16"
        result = np.array(array)
    elif library == "cupy":
        result = array.get()
    elif isinstance(array, np.ndarray):
        result = array
    elif isinstance(array, np.generic):
        result = np.asarray(array)
    elif hasattr(array, "__array__"):
        result = np.asarray(array)
    elif hasattr(array, "__dlpack__"):
        result = _from_dlpack(array)
    else:
        raise TypeError(f"need an array, got {type(array).__name__}")
    if not result.dtype.isnative:  # as NumPy reads files of another byte order: the name is the same, the bits are not
        result = result.byteswap().view(result.dtype.newbyteorder("="))
    name = result.dtype.name
    dtype = DTYPES.get(name, name)
    return (result.view(bits_dtype(dtype)) if dtype in OF_BITS else result), dtype


def quiet_threads() -> None:
    """For a fork, which lacks the parent's worker threads: keeps libraries from waiting for them."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


__all__ = ["NOT_FORKED", "LIBRARIES", "bits_dtype", "dtype_of", "from_bits", "library_of", "quiet_threads", "to_bits"]

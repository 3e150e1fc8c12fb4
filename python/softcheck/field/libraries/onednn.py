"""oneDNN's softmax primitive on the CPU. PyPI's onednn is built for SYCL, whose CPU is a device of Intel's OpenCL runtime."""

import ctypes
import functools
import importlib.metadata
import os
import pathlib
import sys

import numpy

from ..kernel import Library, kernels_of

_VERSION = importlib.metadata.version("onednn")
_FOLDER = pathlib.Path(sys.prefix) / "lib"
os.environ.setdefault("OCL_ICD_FILENAMES", str(_FOLDER / "libintelocl.so"))
os.environ.setdefault("CL_CONFIG_CPU_TBB_NUM_WORKERS", "1")
# Once loaded, each is found by name, also by the libraries that need it.
for _name in ("libintlc.so.5", "libirng.so", "libsvml.so", "libimf.so", "libtbb.so.12", "libsycl.so.9"):
    ctypes.CDLL(str(_FOLDER / _name), ctypes.RTLD_GLOBAL)
_DNNL = ctypes.CDLL(str(_FOLDER / "libdnnl.so.3"))

_DOCS = "https://uxlfoundation.github.io/oneDNN/dev_guide_softmax.html"
_TYPES = {"float32": 3, "bfloat16": 2}  # dnnl_data_type_t; float16 needs AVX512_FP16
_SOFTMAX, _LOG_SOFTMAX = 0x30000, 0x30001  # dnnl_alg_kind_t
_CPU, _FORWARD = 1, 64  # dnnl_engine_kind_t, dnnl_prop_kind_t: training, whose results are those of inference
_SRC, _DST, _DIFF_SRC, _DIFF_DST = 1, 17, 129, 145  # DNNL_ARG_...
_P = ctypes.c_void_p


class _Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", _P)]


def _call(name, *arguments):
    status = getattr(_DNNL, "dnnl_" + name)(*arguments)
    if status != 0:
        raise RuntimeError(f"dnnl_{name}: status {status}")


def _made(name, *arguments):
    """The handle that the function writes to its first argument."""
    handle = _P()
    _call(name, ctypes.byref(handle), *arguments)
    return handle


@functools.lru_cache(None)
def _engine():
    engine = _made("engine_create", ctypes.c_int(_CPU), ctypes.c_size_t(0))
    return engine, _made("stream_create", engine, ctypes.c_uint(1))


def _descriptor(shape, dtype):
    dims, strides = (ctypes.c_int64 * 12)(*shape), (ctypes.c_int64 * 12)(shape[1], 1)
    return _made("memory_desc_create_with_strides", 2, dims, ctypes.c_int(_TYPES[dtype]), strides)


@functools.lru_cache(256)
def _primitive(algorithm, backward, shape, dtype):
    """A primitive for a shape, with the descriptor of its arrays."""
    engine, tensor = _engine()[0], _descriptor(shape, dtype)
    kind, axis = ctypes.c_int(algorithm), ctypes.c_int(1)
    chosen = _made("softmax_forward_primitive_desc_create", engine, ctypes.c_int(_FORWARD), kind, tensor, tensor, axis, None)
    if backward:
        chosen = _made("softmax_backward_primitive_desc_create", engine, kind, tensor, tensor, tensor, axis, chosen, None)
    return _made("primitive_create", chosen), tensor


def _run(algorithm, inputs, output):
    """inputs and output are argument numbers with arrays: {_SRC: x}, and _DST."""
    example = next(iter(inputs.values()))
    primitive, tensor = _primitive(algorithm, output == _DIFF_SRC, example.shape, example.dtype.name)
    engine, stream = _engine()
    memories = {number: _made("memory_create", tensor, engine, _P(-1)) for number in (*inputs, output)}  # DNNL_MEMORY_ALLOCATE
    result = numpy.empty(example.shape, example.dtype)
    try:
        for number, array in inputs.items():
            array = numpy.ascontiguousarray(array)
            mapped = _P()
            _call("memory_map_data", memories[number], ctypes.byref(mapped))
            ctypes.memmove(mapped, array.ctypes.data, array.nbytes)
            _call("memory_unmap_data", memories[number], mapped)
        arguments = (_Argument * len(memories))(*(_Argument(number, memory.value) for number, memory in memories.items()))
        _call("primitive_execute", primitive, stream, len(memories), arguments)
        _call("stream_wait", stream)
        mapped = _P()
        _call("memory_map_data", memories[output], ctypes.byref(mapped))
        ctypes.memmove(result.ctypes.data, mapped, result.nbytes)
        _call("memory_unmap_data", memories[output], mapped)
        return result
    finally:
        for memory in memories.values():
            _call("memory_destroy", memory)


def softmax(x):
    return _run(_SOFTMAX, {_SRC: x}, _DST)


def log_softmax(x):
    return _run(_LOG_SOFTMAX, {_SRC: x}, _DST)


def softmax_backward(y, g):
    return _run(_SOFTMAX, {_DST: y, _DIFF_DST: g}, _DIFF_SRC)


def log_softmax_backward(y, g):
    return _run(_LOG_SOFTMAX, {_DST: y, _DIFF_DST: g}, _DIFF_SRC)


def library() -> Library:
    functions = (softmax, log_softmax, softmax_backward, log_softmax_backward)
    rest = dict(link=_DOCS, dtypes=tuple(_TYPES), arguments={"domain": "n>=1 rows>=1"})
    return Library(
        "onednn",
        _VERSION,
        [kernel for f in functions for kernel in kernels_of(f.__name__.replace("_backward", ", gradient"), f.__name__, f, **rest)],
    )

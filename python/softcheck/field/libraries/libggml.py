"""ggml on the CPU, one thread: PyPI's libggml-python contains its libraries without bindings. Each call runs a graph
of one node."""

import ctypes
import importlib.metadata
import pathlib

import libggml
import ml_dtypes
import numpy

from ..kernel import Library, kernels_of

_DOCS = "https://github.com/ggml-org/ggml/blob/master/include/ggml.h"
_FOLDER = pathlib.Path(libggml.__file__).parent / "lib64"
_BASE, _CPU = (ctypes.CDLL(str(_FOLDER / name), ctypes.RTLD_GLOBAL) for name in ("libggml-base.so", "libggml-cpu.so"))
_TYPES = {"float32": 0, "float16": 1, "bfloat16": 30}  # enum ggml_type
_WORK = 1 << 26  # for the tensors' headers and a node's scratch memory; untouched pages use no memory


class _Parameters(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


def _function(library, name, *arguments, returns=ctypes.c_void_p):
    function = getattr(library, "ggml_" + name)
    function.argtypes, function.restype = arguments, returns
    return function


_P, _F = ctypes.c_void_p, ctypes.c_float
_init = _function(_BASE, "init", _Parameters)
_free = _function(_BASE, "free", _P, returns=None)
_new_tensor = _function(_BASE, "new_tensor", _P, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int64))
_data = _function(_BASE, "get_data", _P)
_new_graph = _function(_BASE, "new_graph", _P)
_expand = _function(_BASE, "build_forward_expand", _P, _P, returns=None)
_compute = _function(_CPU, "graph_compute_with_ctx", _P, _P, ctypes.c_int, returns=ctypes.c_int)
_soft_max = _function(_BASE, "soft_max", _P, _P)
_soft_max_ext = _function(_BASE, "soft_max_ext", _P, _P, _P, _F, _F)
_soft_max_ext_back = _function(_BASE, "soft_max_ext_back", _P, _P, _P, _F, _F)
_cross_entropy_loss = _function(_BASE, "cross_entropy_loss", _P, _P, _P)
_cross_entropy_loss_back = _function(_BASE, "cross_entropy_loss_back", _P, _P, _P, _P)
_flash_attn_ext = _function(_BASE, "flash_attn_ext", _P, _P, _P, _P, _P, _F, _F, _F)
_add_sinks = _function(_BASE, "flash_attn_ext_add_sinks", _P, _P, returns=None)
_function(_CPU, "cpu_init", returns=None)()


def _run(node, shape, *arrays):
    """node makes a node of a context and one tensor for each array (NULL for None). Its result has float32 items of
    this shape."""
    arrays = [None if array is None else numpy.ascontiguousarray(array) for array in arrays]
    size = _WORK + 4 * sum(array.nbytes for array in arrays if array is not None)
    context = _init(_Parameters(size, None, False))
    try:
        tensors = []
        for array in arrays:
            if array is None:
                tensors.append(None)
                continue
            dims = (ctypes.c_int64 * array.ndim)(*reversed(array.shape))
            tensors.append(_new_tensor(context, _TYPES[array.dtype.name], array.ndim, dims))
            ctypes.memmove(_data(tensors[-1]), array.ctypes.data, array.nbytes)
        result = node(context, *tensors)
        graph = _new_graph(context)
        _expand(graph, result)
        status = _compute(context, graph, 1)
        if status != 0:
            raise RuntimeError(f"ggml_graph_compute: {status}")
        out = numpy.empty(shape, numpy.float32)
        ctypes.memmove(out.ctypes.data, _data(result), out.nbytes)
        return out
    finally:
        _free(context)


def _as_mask(visible, dtype):
    return None if visible is None else numpy.where(visible, dtype(0), dtype(-numpy.inf))


def softmax(x):
    return _run(_soft_max, x.shape, x)


def softmax_ext(x, mask):
    return _run(lambda c, a, m: _soft_max_ext(c, a, m, 1, 0), x.shape, x, _as_mask(mask, numpy.float32))


def softmax_backward(y, g):
    return _run(lambda c, a, b: _soft_max_ext_back(c, a, b, 1, 0), y.shape, g, y)


def _one_hot(label, n):
    labels = numpy.zeros((1, n), numpy.float32)
    labels[0, label] = 1
    return labels


def cross_entropy(logits, labels):
    """The mean over rows, called with one row at a time. ggml's labels are probabilities."""
    losses = numpy.zeros(len(labels), numpy.float32)
    for row in numpy.flatnonzero(labels >= 0):
        x = logits[row : row + 1]
        losses[row] = _run(_cross_entropy_loss, (), x, _one_hot(labels[row], x.shape[1]))
    return losses


def cross_entropy_backward(logits, labels, upstream):
    gradients = numpy.zeros(logits.shape, numpy.float32)
    for row in numpy.flatnonzero(labels >= 0):
        x = logits[row : row + 1]
        hot = _one_hot(labels[row], x.shape[1])
        gradients[row] = _run(_cross_entropy_loss_back, (x.shape[1],), upstream[row : row + 1], x, hot)
    return gradients


def _attention(q, k, v, mask, scale, softcap, sinks):
    def node(context, a, b, c, m, s):
        result = _flash_attn_ext(context, a, b, c, m, scale, 0, softcap)
        if s is not None:
            _add_sinks(result, s)
        return result

    batch, heads, queries, _ = q.shape
    shape = (batch, queries, heads, v.shape[3])
    sinks = None if sinks is None else sinks.astype(numpy.float32)
    return _run(node, shape, q.astype(numpy.float32), k, v, mask, sinks).swapaxes(1, 2).astype(q.dtype)


def attention(q, k, v, mask, scale, causal):
    """A mask of float16 that is added to the scores: causality is such a mask."""
    queries, keys = q.shape[2], k.shape[2]
    if causal:
        seen = numpy.tri(queries, keys, keys - queries, dtype=bool)
        mask = seen[None, None] if mask is None else numpy.logical_and(mask, seen)
    return _attention(q, k, v, _as_mask(mask, numpy.float16), scale, 0, None)


def attention_with_attributes(q, k, v, scale, softcap, sinks):
    return _attention(q, k, v, None, scale, softcap, sinks)


def library() -> Library:
    rows = dict(link=_DOCS, dtypes=("float32",), arguments={"domain": "n>=1 rows>=1"})
    lengths = "finite batch>=1 heads>=1 keys>=1 queries>=1 dim>=1 values>=1"
    dtypes = ("float32", "float16", "bfloat16")
    wide = "q is float32, and the result, which float16 and bfloat16 of k and v round here"
    return Library(
        "libggml",
        importlib.metadata.version("libggml-python"),
        [
            *kernels_of("soft_max", "softmax", softmax, **rows),
            *kernels_of("soft_max_ext, mask", "softmax", softmax_ext, **{**rows, "arguments": {"domain": "n>=1 rows>=1 finite"}}, notes="a mask of 0 and -inf is added: a NaN behind it is not hidden"),
            *kernels_of("flash_attn_ext", "attention", attention, _DOCS, dtypes, arguments={"domain": lengths}, notes=f"{wide}; a mask of 0 and -inf is added"),
            *kernels_of("flash_attn_ext, softcap and sinks", "attention", attention_with_attributes, _DOCS, dtypes, arguments={"domain": f"{lengths} nomask softcap sinks"}, exempt=("kernel.masked_row",), notes=wide),
            *kernels_of("soft_max_ext_back", "softmax_backward", softmax_backward, **rows),
            *kernels_of("cross_entropy_loss", "cross_entropy", cross_entropy, **rows, notes="one row at a time, ignored rows not at all"),
            *kernels_of("cross_entropy_loss_back", "cross_entropy_backward", cross_entropy_backward, **rows, notes="one row at a time, ignored rows not at all"),
        ],
    )

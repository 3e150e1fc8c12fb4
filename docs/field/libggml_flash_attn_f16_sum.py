"""libggml 0.20.2: flash_attn_ext adds float16 values in float16: of 4,096 keys alike the mean of ones is 0.5, of values 30,000 it is +inf.

class: wrong
kernels: flash_attn_ext float16; flash_attn_ext, softcap and sinks float16
"""

import ctypes
import pathlib
import sys

import libggml
import numpy

folder = pathlib.Path(libggml.__file__).parent / "lib64"
base, cpu = (ctypes.CDLL(str(folder / name), ctypes.RTLD_GLOBAL) for name in ("libggml-base.so", "libggml-cpu.so"))
pointer, number = ctypes.c_void_p, ctypes.c_float
for name in ("init", "new_tensor_4d", "flash_attn_ext", "new_graph", "get_data"):
    getattr(base, "ggml_" + name).restype = pointer
cpu.ggml_cpu_init()


class Parameters(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("buffer", pointer), ("no_alloc", ctypes.c_bool)]


def mean_of(value, keys):
    """Attention of one query of zeros to keys of zeros, by llama.cpp's precision, float32: the mean of the values."""
    context = pointer(base.ggml_init(Parameters(1 << 26, None, False)))
    tensors = []
    for kind, rows, item in ((0, 1, numpy.float32(0)), (1, keys, numpy.float16(0)), (1, keys, numpy.float16(value))):
        tensors.append(pointer(base.ggml_new_tensor_4d(context, kind, *map(ctypes.c_int64, (8, rows, 1, 1)))))
        data = numpy.full((rows, 8), item)
        ctypes.memmove(pointer(base.ggml_get_data(tensors[-1])), data.ctypes.data, data.nbytes)
    result = pointer(base.ggml_flash_attn_ext(context, *tensors, None, number(1), number(0), number(0)))
    base.ggml_flash_attn_ext_set_prec(result, 10)  # GGML_PREC_F32
    graph = pointer(base.ggml_new_graph(context))
    base.ggml_build_forward_expand(graph, result)
    cpu.ggml_graph_compute_with_ctx(context, graph, 1)
    return ctypes.cast(pointer(base.ggml_get_data(result)), ctypes.POINTER(number))[0]


got = {(value, keys): mean_of(value, keys) for value, keys in ((1, 4096), (1, 65536), (30000, 4))}
for (value, keys), mean in got.items():
    print(f"flash_attn_ext, {keys} keys alike, float16 values {value} | {mean} | {value}: the mean of equal values")
sys.exit(0 if got[1, 4096] == 0.5 and numpy.isinf(got[30000, 4]) else "not there")

"""libggml 0.20.2: cross_entropy_loss is NaN where a logit is -inf whose label is 0 (labels are probabilities): 0 times -inf is added.

class: convention
kernels: cross_entropy_loss float32
"""

import ctypes
import pathlib
import sys

import libggml
import mpmath
import numpy

folder = pathlib.Path(libggml.__file__).parent / "lib64"
base, cpu = (ctypes.CDLL(str(folder / name), ctypes.RTLD_GLOBAL) for name in ("libggml-base.so", "libggml-cpu.so"))
pointer = ctypes.c_void_p
for name in ("init", "new_tensor_1d", "cross_entropy_loss", "new_graph", "get_data"):
    getattr(base, "ggml_" + name).restype = pointer
cpu.ggml_cpu_init()


class Parameters(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("buffer", pointer), ("no_alloc", ctypes.c_bool)]


def loss_of(*rows):
    context = pointer(base.ggml_init(Parameters(1 << 24, None, False)))
    tensors = []
    for row in rows:
        data = numpy.array(row, numpy.float32)
        tensors.append(pointer(base.ggml_new_tensor_1d(context, 0, ctypes.c_int64(len(row)))))
        ctypes.memmove(pointer(base.ggml_get_data(tensors[-1])), data.ctypes.data, data.nbytes)
    result = pointer(base.ggml_cross_entropy_loss(context, *tensors))
    graph = pointer(base.ggml_new_graph(context))
    base.ggml_build_forward_expand(graph, result)
    cpu.ggml_graph_compute_with_ctx(context, graph, 1)
    return ctypes.cast(pointer(base.ggml_get_data(result)), ctypes.POINTER(ctypes.c_float))[0]


got = loss_of([0, 0, -numpy.inf], [1, 0, 0])
print(f"cross_entropy_loss([0, 0, -inf], labels [1, 0, 0]) | {got} | {mpmath.nstr(mpmath.log(2), 8)}")
sys.exit(0 if numpy.isnan(got) else "not there")

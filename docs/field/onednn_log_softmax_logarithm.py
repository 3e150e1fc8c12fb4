"""onednn 2026.1.0: log_softmax in float32 has a logarithm that is off by up to 3.5e-6, some 29 units of float32 at 1 (oneDNN 3.13.2).

class: within a weaker contract
kernels: log_softmax float32
"""

import ctypes
import importlib.metadata
import os
import sys

import mpmath
import numpy

folder = sys.prefix + "/lib/"  # where pip puts the libraries of onednn, which is built for SYCL
print("PyPI's onednn", importlib.metadata.version("onednn"))
os.environ["OCL_ICD_FILENAMES"] = folder + "libintelocl.so"
for name in ("libintlc.so.5", "libirng.so", "libsvml.so", "libimf.so", "libtbb.so.12", "libsycl.so.9"):
    ctypes.CDLL(folder + name, ctypes.RTLD_GLOBAL)
dnnl = ctypes.CDLL(folder + "libdnnl.so.3")


def made(name, *arguments):
    handle = ctypes.c_void_p()
    assert getattr(dnnl, "dnnl_" + name)(ctypes.byref(handle), *arguments) == 0, name
    return handle


def run(algorithm, row):
    """0x30000 is softmax, 0x30001 log_softmax; float32 is 3, forward training 64; arguments 1 and 17 are source and destination."""
    x = numpy.array([row], numpy.float32)
    engine = made("engine_create", 1, ctypes.c_size_t(0))
    dims, strides = (ctypes.c_int64 * 12)(*x.shape), (ctypes.c_int64 * 12)(x.shape[1], 1)
    tensor = made("memory_desc_create_with_strides", 2, dims, 3, strides)
    softmax = made("primitive_create", made("softmax_forward_primitive_desc_create", engine, 64, algorithm, tensor, tensor, 1, None))
    memory = made("memory_create", tensor, engine, ctypes.c_void_p(-1))
    mapped = ctypes.c_void_p()
    dnnl.dnnl_memory_map_data(memory, ctypes.byref(mapped))
    ctypes.memmove(mapped, x.ctypes.data, x.nbytes)
    dnnl.dnnl_memory_unmap_data(memory, mapped)
    stream = made("stream_create", engine, 1)
    in_place = (ctypes.c_int64 * 4)(1, memory.value, 17, memory.value)  # two of struct {int; void*}
    assert dnnl.dnnl_primitive_execute(softmax, stream, 2, in_place) == 0 and dnnl.dnnl_stream_wait(stream) == 0
    dnnl.dnnl_memory_map_data(memory, ctypes.byref(mapped))
    ctypes.memmove(x.ctypes.data, mapped, x.nbytes)
    dnnl.dnnl_memory_unmap_data(memory, mapped)
    return x[0]


mpmath.mp.prec = 200
there = []
for text, row in (("[0, -7]", [0, -7]), ("[0, -3.25]", [0, -3.25]), ("zeros(33)", [0] * 33)):
    got, exact = float(run(0x30001, row)[0]), -mpmath.log(sum(mpmath.exp(x) for x in row))
    there.append(abs(got - exact) > 1e-6)  # float32's spacing at 1 is 1.2e-7
    print(f"log_softmax({text})[0], float32 | {got} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if all(there) else "not there")

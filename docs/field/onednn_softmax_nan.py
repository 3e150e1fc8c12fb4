"""onednn 2026.1.0: a NaN does not reach its row of softmax (oneDNN 3.13.2): [0, NaN] -> [0, NaN]; log_softmax [0, NaN] -> [-inf, NaN].

class: wrong
kernels: softmax float32; softmax bfloat16; log_softmax float32; log_softmax bfloat16
"""

import ctypes
import importlib.metadata
import os
import sys

import numpy

folder = sys.prefix + "/lib/"  # where pip puts the libraries of onednn, which is built for SYCL
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


if __name__ == "__main__":
    print("PyPI's onednn", importlib.metadata.version("onednn"))
    softmax, log_softmax = (run(algorithm, [0, numpy.nan]) for algorithm in (0x30000, 0x30001))
    print(f"softmax([0, nan]), float32 | {softmax} | [nan nan]: every coefficient depends on the NaN")
    print(f"log_softmax([0, nan]), float32 | {log_softmax} | [nan nan]: every result depends on the NaN")
    sys.exit(0 if softmax[0] == 0 and numpy.isneginf(log_softmax[0]) else "not there")

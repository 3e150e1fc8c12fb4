"""CTranslate2 on the CPU, one thread: the kernel behind its ops SoftMax and LogSoftMax, which have no Python name."""

import ctypes
import pathlib

import ctranslate2
import numpy

from ..kernel import Library, kernels_of

_FOLDER = pathlib.Path(ctranslate2.__file__).parents[1] / "ctranslate2.libs"
_LIBRARY = ctypes.CDLL(str(next(_FOLDER.glob("libctranslate2-*"))))
_ISAS = {"AVX2": 2, "AVX512": 3}  # enum CpuIsa


def _softmax_of(isa, is_log):
    function = getattr(_LIBRARY, f"_ZN11ctranslate23cpu7softmaxILNS0_6CpuIsaE{_ISAS[isa]}EEEvPKfPKiPfllb")
    function.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2 + [ctypes.c_bool]
    function.restype = None

    def called(x):
        x = numpy.ascontiguousarray(x)
        out = numpy.empty_like(x)
        function(x.ctypes.data, None, out.ctypes.data, *x.shape, is_log)
        return out

    return called


def library() -> Library:
    docs = "https://github.com/OpenNMT/CTranslate2/blob/master/src/cpu/kernels.cc"
    return Library(
        "ctranslate2",
        ctranslate2.__version__,
        [
            kernel
            for isa in _ISAS
            for name, op in (("SoftMax", "softmax"), ("LogSoftMax", "log_softmax"))
            for kernel in kernels_of(f"{name}, {isa}", op, _softmax_of(isa, name != "SoftMax"), docs, ("float32",))
        ],
        isolation="fork",
    )

"""ctranslate2 4.8.5: a NaN does not reach its row of SoftMax and LogSoftMax (CPU): softmax [NaN] -> [1], [0, NaN] -> a weight of 1 for the NaN.

class: wrong
kernels: SoftMax, AVX2 float32; SoftMax, AVX512 float32; LogSoftMax, AVX2 float32; LogSoftMax, AVX512 float32
"""
import sys, ctypes, pathlib, ctranslate2, numpy

library = ctypes.CDLL(str(next(pathlib.Path(ctranslate2.__file__).parents[1].glob("ctranslate2.libs/libctranslate2-*"))))
softmax = library._ZN11ctranslate23cpu7softmaxILNS0_6CpuIsaE2EEEvPKfPKiPfllb  # cpu::softmax<CpuIsa::AVX2>
softmax.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2 + [ctypes.c_bool]
lost = False
nan, inf = numpy.nan, numpy.inf
for row, log in (([nan], False), ([inf, inf], False), ([0, nan, 0, 0, 0, 0, 0, 0], False), ([0, nan] + 30 * [0], True)):
    x = numpy.array([row], numpy.float32)
    y = numpy.empty_like(x)
    softmax(x.ctypes.data, None, y.ctypes.data, *x.shape, log)
    lost |= not numpy.isnan(y).all()
    exact = "nan (inf - inf) or [0.5 0.5]" if inf in row else "nan throughout: every result depends on the NaN"
    print(f"{'log_' * log}softmax({row[:8]}{' + 24 * [0]' * log})[:2] | {y[0, :2]} | {exact}")
sys.exit(0 if lost else f"not there in ctranslate2 {ctranslate2.__version__}, on this machine")

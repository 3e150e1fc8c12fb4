"""keras 3.15.1: ops.sparsemax on NumPy does not subtract the maximum: of large float32 logits all coefficients are 0, or one is infinite.

class: wrong
kernels: ops.sparsemax float32
"""
import os, sys
os.environ["KERAS_BACKEND"] = "numpy"
import keras, numpy

for row, exact in (([1e5, 1e5 + 0.5, 1e5 - 0.25], "[0.25 0.75 0]"), ([2.0**25, 0], "[1 0]")):
    got = numpy.asarray(keras.ops.sparsemax(numpy.array([row], numpy.float32)))[0]
    print(f"sparsemax({row}), float32 | {got} | {exact}")
sys.exit(0 if not abs(got.sum() - 1) < 0.1 else f"not there in keras {keras.__version__}")

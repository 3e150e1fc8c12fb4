"""keras 3.15.1: ops.softmax, ops.log_softmax and the cross-entropies on NumPy of 65,520 equal float16 logits: the sum overflows.

class: wrong
kernels: ops.softmax float16; ops.log_softmax float16
"""
import os, sys
os.environ["KERAS_BACKEND"] = "numpy"
import keras, mpmath, numpy

n = 65520
x = numpy.zeros((1, n), numpy.float16)
got = float(keras.ops.log_softmax(x)[0, 0])
loss = keras.losses.sparse_categorical_crossentropy(numpy.array([0]), x, from_logits=True)[0]
print(f"softmax(zeros((1, {n}), float16))[0, 0] | {keras.ops.softmax(x)[0, 0]} | {mpmath.nstr(mpmath.mpf(1) / n, 8)}")
print(f"log_softmax of it | {got} | {mpmath.nstr(-mpmath.log(n), 8)}")
print(f"sparse_categorical_crossentropy of it, label 0 | {loss} | {mpmath.nstr(mpmath.log(n), 8)}")
sys.exit(0 if got < -12 else f"not there in keras {keras.__version__}")

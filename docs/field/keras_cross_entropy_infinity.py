"""keras 3.15.1: the cross-entropies on NumPy are NaN where a class other than the label has a logit of -inf: 0 times -inf is added.

class: wrong
kernels: losses.sparse_categorical_crossentropy float32; losses.categorical_crossentropy float32
"""
import os, sys
os.environ["KERAS_BACKEND"] = "numpy"
import keras, numpy

x = numpy.array([[-numpy.inf, 0]], numpy.float32)
got = keras.losses.sparse_categorical_crossentropy(numpy.array([1]), x, from_logits=True)[0]
soft = keras.losses.categorical_crossentropy(numpy.array([[0, 1]], numpy.float32), x, from_logits=True)[0]
print(f"sparse_categorical_crossentropy of [-inf, 0], label 1 | {got} | 0: the label's coefficient is 1")
print(f"categorical_crossentropy of [-inf, 0], targets [0, 1] | {soft} | 0: a class of target 0 has no share")
sys.exit(0 if got != got else f"not there in keras {keras.__version__}")

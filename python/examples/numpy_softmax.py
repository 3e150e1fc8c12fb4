"""A NumPy softmax, and one that forgets to subtract the maximum.

    python numpy_softmax.py
"""

import numpy as np

import softcheck


def softmax(x):
    with np.errstate(invalid="ignore"):  # a row of -inf alone is NaN
        e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
        return e / e.sum(axis=-1, keepdims=True)


def softmax_without_maximum(x):
    with np.errstate(all="ignore"):
        e = np.exp(x)
        return e / e.sum(axis=-1, keepdims=True)


if __name__ == "__main__":
    print(softcheck.check(softmax).summary)
    print(softcheck.check(softmax_without_maximum))

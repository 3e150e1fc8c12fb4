"""A library for the field report: a correct kernel, and one for each bug that it must tell apart."""

import os

import numpy as np

from softcheck.field.kernel import Library, kernels_of


def softmax(x):
    with np.errstate(all="ignore"):
        if x.shape[-1] == 0:
            return x.copy()
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)


def softmax_that_loses_nan(x):
    return np.where(np.isnan(x), np.float32(0), softmax(np.where(np.isnan(x), np.float32(-np.inf), x)))


def softmax_unshifted(x):
    with np.errstate(all="ignore"):
        e = np.exp(x)
        return e / e.sum(axis=-1, keepdims=True)


def softmax_that_dies(x):
    os._exit(3)


def library():
    link = "https://example.org/"
    return Library(
        "fake",
        "1.0",
        [
            *kernels_of("softmax", "softmax", softmax, link, ("float32",)),
            *kernels_of("loses_nan", "softmax", softmax_that_loses_nan, link, ("float32",)),
            *kernels_of("unshifted", "softmax", softmax_unshifted, link, ("float32",)),
            *kernels_of("dies", "softmax", softmax_that_dies, link, ("float32",)),
            *kernels_of("softmax again", "softmax", softmax, link, ("float32",), contract="exp=2ulp"),
        ],
    )

"""Kernels in NumPy: correct ones, and one for each bug that the tests look for."""

import ctypes
import os
import time

import numpy as np
from softcheck._dtypes import LONG_NAMES

import softcheck

# By NumPy's and ml_dtypes' names, of one byte in the second.
DTYPES = [LONG_NAMES[dtype["name"]] for dtype in softcheck.describe()["dtypes"]]
EIGHT_BITS = [LONG_NAMES[dtype["name"]] for dtype in softcheck.describe()["dtypes"] if dtype["bits"] == 8]


def softmax(x):
    if x.shape[-1] == 0:
        return x.copy()
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)


def softmax_at(x, theta, mask):
    """At a temperature, and with a mask."""
    with np.errstate(all="ignore"):
        visible = x if mask is None else np.where(mask, x, -np.inf).astype(x.dtype)
        if x.shape[-1] == 0:
            return x.copy()
        differences = visible - visible.max(axis=-1, keepdims=True)
        e = np.exp((differences.astype(np.float64) / theta).astype(x.dtype))
        return e / e.sum(axis=-1, keepdims=True)


def softmax_into(x, out):
    out[...] = softmax(x)


def logsumexp(x):
    if x.shape[-1] == 0:
        return np.full(x.shape[:-1], -np.inf, x.dtype)
    with np.errstate(all="ignore"):
        m = x.max(axis=-1)
        centre = np.where(np.isfinite(m), m, x.dtype.type(0))
        return centre + np.log(np.exp(x - centre[..., None]).sum(axis=-1))


def attention(q, k, v, scale, causal):
    """(batch, heads, length, dim); k's and v's heads divide q's. A query that sees nothing is 0."""
    group = q.shape[1] // max(1, k.shape[1])
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    queries, keys = q.shape[2], k.shape[2]
    if keys == 0:
        return np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    with np.errstate(all="ignore"):
        scores = (q @ k.swapaxes(-1, -2)) * q.dtype.type(scale)
        visible = np.tril(np.ones((queries, keys), bool), keys - queries) if causal else np.ones((queries, keys), bool)
        scores = np.where(visible, scores, q.dtype.type(-np.inf))
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
        # A key that is not seen has no part in the sum, whatever its value holds.
        terms = np.where(visible[..., None], p[..., None] * v[:, :, None], q.dtype.type(0))
        return terms.sum(axis=-2)


def unshifted(x):
    with np.errstate(all="ignore"):
        e = np.exp(x)
        return e / e.sum(axis=-1, keepdims=True)


def one_item_off(x):
    result = softmax(x)
    if result.shape[-1] > 100:
        result[..., 100] *= result.dtype.type(1.001)
    return result


def ignores_nan(x):
    result = softmax(x)
    result[np.isnan(result)] = 0
    return result


def transposed(x):
    return softmax(x).T


def widened(x):
    return softmax(x).astype(np.float64)


def nothing(x):
    return None


def in_place(x):
    x -= x.max(axis=-1, keepdims=True, initial=-np.inf)
    return softmax(x)


def writes_to_its_input(x):
    result = softmax(x)
    x[...] = 0
    return result


def softmax_of_some(x):
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis=-1, keepdims=True))  # raises where there is no item
        return e / e.sum(axis=-1, keepdims=True)


def raises(x):
    if x.shape[0] > 2:
        raise RuntimeError("more than two rows are too many")
    return softmax(x)


def refuses_many_rows(x):
    if x.shape[0] > 2:
        raise NotImplementedError
    return softmax(x)


def hangs(x):
    if x.shape[-1] > 100:
        time.sleep(1000)
    return softmax(x)


def exits(x):
    if x.shape[-1] > 100:
        os._exit(0)
    return softmax(x)


def segfaults(x):
    if x.shape[-1] > 100:
        ctypes.string_at(0)
    return softmax(x)


def raises_deep(x):
    return _raises_at(x, 7)


def _raises_at(x, depth):
    if depth:
        return _raises_at(x, depth - 1)
    lines = ["é" * 3000, *(f"line {i}" for i in range(30))]
    raise RuntimeError("\n".join(lines))


def all_but_the_last(x):
    """Leaves the last item as its memory was."""
    out = np.empty_like(x)
    out[..., :-1] = softmax(x)[..., :-1]
    return out


def loss_of_labels(x, labels):
    """Knows no ignored rows: a label < 0 is out of bounds."""
    if (labels < 0).any():
        raise IndexError("index -100 is out of bounds")
    with np.errstate(all="ignore"):
        most = x.max(axis=-1)
        total = np.exp(x - most[:, None]).sum(axis=-1)
        return np.log(total) - (x[np.arange(len(x)), labels] - most)

"""Keras on NumPy: the other backends call kernels of JAX, PyTorch or TensorFlow."""

import os

os.environ["KERAS_BACKEND"] = "numpy"
import keras  # noqa: E402: the environment comes first
import numpy  # noqa: E402

from ..kernel import Library, kernels_of  # noqa: E402


def softmax(x):
    return keras.ops.softmax(x, axis=-1)


def log_softmax(x):
    return keras.ops.log_softmax(x, axis=-1)


def sparsemax(x):
    """Its result is float64."""
    return keras.ops.sparsemax(x, axis=-1).astype(x.dtype)


def cross_entropy(logits, labels, ignore_index):
    return keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True, ignore_class=ignore_index)


def soft_cross_entropy(logits, targets):
    return keras.losses.categorical_crossentropy(targets, logits, from_logits=True)


def library() -> Library:
    numpy.seterr(all="ignore")
    some = dict(dtypes=("float32",), arguments={"domain": "n>=1 rows>=1"}, notes="an empty row raises ValueError")
    half = {**some, "dtypes": ("float32", "float16")}
    docs, losses = "https://keras.io/api/ops/nn/", "https://keras.io/api/losses/probabilistic_losses/"
    return Library(
        "keras",
        keras.__version__,
        [
            *kernels_of("ops.softmax", "softmax", softmax, docs, **half),
            *kernels_of("ops.log_softmax", "log_softmax", log_softmax, docs, **half),
            *kernels_of("ops.sparsemax", "sparsemax", sparsemax, docs, **some),
            *kernels_of("losses.sparse_categorical_crossentropy", "cross_entropy", cross_entropy, losses, **some),
            *kernels_of("losses.categorical_crossentropy", "soft_cross_entropy", soft_cross_entropy, losses, **some),
        ],
        isolation="fork",
    )

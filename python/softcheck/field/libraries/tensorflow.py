"""TensorFlow on the CPU, oneDNN's kernels as by default, one thread."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf  # noqa: E402: the environment comes first

from ..kernel import Library, kernels_of  # noqa: E402

_DOCS = "https://www.tensorflow.org/api_docs/python/tf/"


def softmax(x):
    return tf.nn.softmax(x)


def log_softmax(x):
    return tf.nn.log_softmax(x)


def logsumexp(x):
    return tf.reduce_logsumexp(x, -1)


def library() -> Library:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    rows = dict(arrays="tensorflow")
    return Library(
        "tensorflow",
        tf.__version__,
        [
            *kernels_of("nn.softmax", "softmax", softmax, _DOCS + "nn/softmax", **rows),
            *kernels_of("nn.log_softmax", "log_softmax", log_softmax, _DOCS + "nn/log_softmax", **rows),
            *kernels_of("reduce_logsumexp", "logsumexp", logsumexp, _DOCS + "math/reduce_logsumexp", **rows),
        ],
    )

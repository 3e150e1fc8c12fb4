"""TensorFlow on the CPU, with oneDNN's kernels, its default, one thread."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf  # noqa: E402: the environment comes first
from tensorflow.python.ops import nn_grad  # noqa: E402

from ..kernel import Library, kernels_of  # noqa: E402

_DOCS = "https://www.tensorflow.org/api_docs/python/tf/"


def softmax(x):
    return tf.nn.softmax(x)


def log_softmax(x):
    return tf.nn.log_softmax(x)


def logsumexp(x):
    return tf.reduce_logsumexp(x, -1)


class _Saved:
    """The values that a registered gradient reads of its operation."""

    def __init__(self, y):
        self.outputs = [y]


def softmax_backward(y, g):
    return nn_grad._SoftmaxGrad(_Saved(y), g)


def log_softmax_backward(y, g):
    return nn_grad._LogSoftmaxGrad(_Saved(y), g)


def _loss_and_gradient(logits, labels):
    """An ignored row gets the label 0 and logits of 0: labels outside of [0, V) raise InvalidArgumentError."""
    counted = labels >= 0
    with tf.GradientTape() as tape:
        tape.watch(logits)
        seen = tf.where(counted[:, None], logits, tf.zeros_like(logits))
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.where(counted, labels, tf.zeros_like(labels)), seen)
        loss = tf.where(counted, loss, tf.zeros_like(loss))
    return loss, tape


def cross_entropy(logits, labels):
    return _loss_and_gradient(logits, labels)[0]


def cross_entropy_backward(logits, labels, upstream):
    loss, tape = _loss_and_gradient(logits, labels)
    return tape.gradient(loss, logits, output_gradients=upstream)


def topk_of_softmax(logits, k):
    wide = logits if logits.dtype == tf.float64 else tf.cast(logits, tf.float32)
    return tuple(tf.math.top_k(tf.nn.softmax(wide), k))


def _new_kernels():
    rows = dict(arrays="tensorflow")
    loss = dict(
        arrays="tensorflow",
        arguments={"domain": "n>=1 rows>=1"},
        notes="an ignored row's logits, label and loss are replaced by 0 (tf.where)",
    )
    docs = _DOCS + "nn/sparse_softmax_cross_entropy_with_logits"
    return [
        *kernels_of("nn.softmax, gradient", "softmax_backward", softmax_backward, _DOCS + "nn/softmax", **rows),
        *kernels_of("nn.log_softmax, gradient", "log_softmax_backward", log_softmax_backward, _DOCS + "nn/log_softmax", **rows),
        *kernels_of("nn.sparse_softmax_cross_entropy_with_logits", "cross_entropy", cross_entropy, docs, **loss),
        *kernels_of("nn.sparse_softmax_cross_entropy_with_logits, gradient", "cross_entropy_backward", cross_entropy_backward, docs, **loss),
        *kernels_of("math.top_k(nn.softmax)", "topk_softmax", topk_of_softmax, _DOCS + "math/top_k", arrays="tensorflow", notes="of the softmax in float32 at least"),
    ]


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
            *_new_kernels(),
        ],
    )

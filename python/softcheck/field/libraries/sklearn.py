"""scikit-learn: sklearn.utils.extmath.softmax and the loss of its classifiers."""

import numpy
import sklearn
from sklearn._loss.loss import HalfMultinomialLoss
from sklearn.utils.extmath import softmax as sklearn_softmax

from ..kernel import Library, kernels_of


def softmax(x):
    return sklearn_softmax(x, copy=True)


def _loss_of(logits):
    return HalfMultinomialLoss(n_classes=logits.shape[1])


def _labels(logits, labels):
    return numpy.maximum(labels, 0).astype(logits.dtype)


def cross_entropy(logits, labels):
    losses = _loss_of(logits).loss(_labels(logits, labels), numpy.ascontiguousarray(logits))
    return numpy.where(labels >= 0, losses, logits.dtype.type(0))


def cross_entropy_backward(logits, labels, upstream):
    """sample_weight is the upstream gradient."""
    zero = logits.dtype.type(0)
    weight = numpy.where(labels >= 0, upstream, zero)
    seen = numpy.where((labels >= 0)[:, None], logits, zero)
    return _loss_of(logits).gradient(_labels(logits, labels), seen, sample_weight=weight)


def _losses():
    """The loss of LogisticRegression and of gradient boosting, which has no public name. It needs at least two
    classes."""
    common = dict(
        dtypes=("float64", "float32"),
        arguments={"domain": "n>=3 rows>=1"},
        notes="_loss.loss, the loss of LogisticRegression; an ignored row has weight 0 and logits of 0",
    )
    docs = "https://github.com/scikit-learn/scikit-learn/blob/main/sklearn/_loss/loss.py"
    return [
        *kernels_of("HalfMultinomialLoss", "cross_entropy", cross_entropy, docs, **common),
        *kernels_of("HalfMultinomialLoss, gradient", "cross_entropy_backward", cross_entropy_backward, docs, **common),
    ]


def library() -> Library:
    numpy.seterr(all="ignore")
    return Library(
        "sklearn",
        sklearn.__version__,
        _losses()
        + kernels_of(
            "utils.extmath.softmax",
            "softmax",
            softmax,
            "https://scikit-learn.org/stable/modules/generated/sklearn.utils.extmath.softmax.html",
            ("float64", "float32", "float16"),
            arguments={"domain": "n>=1 rows>=1"},
            notes="an empty row raises ValueError",
        ),
    )

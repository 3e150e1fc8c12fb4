"""scikit-learn: sklearn.utils.extmath.softmax."""

import numpy
import sklearn
from sklearn.utils.extmath import softmax as sklearn_softmax

from ..kernel import Library, kernels_of


def softmax(x):
    return sklearn_softmax(x, copy=True)


def library() -> Library:
    numpy.seterr(all="ignore")
    return Library(
        "sklearn",
        sklearn.__version__,
        kernels_of(
            "utils.extmath.softmax",
            "softmax",
            softmax,
            "https://scikit-learn.org/stable/modules/generated/sklearn.utils.extmath.softmax.html",
            ("float64", "float32", "float16"),
            arguments={"domain": "n>=1 rows>=1"},
            notes="an empty row raises ValueError",
        ),
    )

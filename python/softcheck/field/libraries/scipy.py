"""SciPy: scipy.special and scipy.stats."""

import numpy
import scipy
import scipy.special
import scipy.stats

from ..kernel import Library, kernels_of

_DOCS = "https://docs.scipy.org/doc/scipy/reference/generated/"
_DTYPES = ("float64", "float32", "float16")  # bfloat16 is no dtype of NumPy's own


def softmax(x):
    return scipy.special.softmax(x, axis=-1)


def log_softmax(x):
    return scipy.special.log_softmax(x, axis=-1)


def logsumexp(x):
    return scipy.special.logsumexp(x, axis=-1)


def entropy_of_weights(x):
    """SciPy normalises the weights itself, as its documentation says."""
    weights = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return scipy.stats.entropy(weights, axis=-1).astype(x.dtype)


def library() -> Library:
    numpy.seterr(all="ignore")
    rows = dict(dtypes=_DTYPES, arguments={"domain": "n>=1 rows>=1"}, notes="an empty row raises ValueError")
    return Library(
        "scipy",
        scipy.__version__,
        [
            *kernels_of("special.softmax", "softmax", softmax, _DOCS + "scipy.special.softmax.html", **rows),
            *kernels_of("special.log_softmax", "log_softmax", log_softmax, _DOCS + "scipy.special.log_softmax.html", **rows),
            *kernels_of("special.logsumexp", "logsumexp", logsumexp, _DOCS + "scipy.special.logsumexp.html", dtypes=_DTYPES),
            *kernels_of("stats.entropy of exp(x - max)", "entropy", entropy_of_weights, _DOCS + "scipy.stats.entropy.html", **rows),
        ],
    )

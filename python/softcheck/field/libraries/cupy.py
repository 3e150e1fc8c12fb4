"""CuPy's cupyx.scipy.special on device 0."""

import cupy
import cupyx.scipy.special

from ..kernel import Library, kernels_of

_DOCS = "https://docs.cupy.dev/en/stable/reference/generated/cupyx.scipy.special."


def softmax(x):
    return cupyx.scipy.special.softmax(x, axis=-1)


def log_softmax(x):
    return cupyx.scipy.special.log_softmax(x, axis=-1)


def logsumexp(x):
    return cupyx.scipy.special.logsumexp(x, axis=-1)


def library() -> Library:
    dtypes = ("float64", "float32", "float16")
    rows = dict(dtypes=dtypes, arrays="cupy")
    found = []
    for op, function in (("softmax", softmax), ("log_softmax", log_softmax), ("logsumexp", logsumexp)):
        if hasattr(cupyx.scipy.special, op):
            # A maximum of nothing is an error there, as in NumPy.
            found += kernels_of(op, op, function, f"{_DOCS}{op}.html", arguments={"domain": "n>=1"}, **rows)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return Library("cupy", f"{cupy.__version__} on {name}", found)

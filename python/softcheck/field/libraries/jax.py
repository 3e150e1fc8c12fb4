"""JAX on the CPU. It compiles for each shape (528 of them took 199 s), so that rows come in few: zeros are added to their
number and -inf, which no row of softmax notices, to their length, up to the next power of four."""

import functools

import jax
import numpy

from ..kernel import Library, kernels_of

_WHERE = (
    "hidden items are 0, in a row that is hidden throughout and in one with a NaN too (the judge's nan_row and masked_row "
    "ask for NaN there): a convention; rows padded to a power of four"
)
_DOCS = "https://docs.jax.dev/en/latest/_autosummary/"


def _power_of_four(length):
    bits = max(0, length - 1).bit_length()
    return 1 << bits + bits % 2


def _padded(function):
    @functools.wraps(function)
    def called(x, mask=None):
        rows, n = x.shape
        shape = (_power_of_four(rows), _power_of_four(n))
        padded = numpy.zeros(shape, x.dtype)
        padded[:, n:] = -numpy.inf
        padded[:rows, :n] = x
        masks = [] if mask is None else [numpy.pad(mask, ((0, shape[0] - rows), (0, shape[1] - n)))]
        result = numpy.asarray(function(padded, *masks))
        return result[:rows] if result.ndim == 1 else result[:rows, :n]

    return called


@_padded
def softmax(x):
    return jax.nn.softmax(x, axis=-1)


@_padded
def log_softmax(x):
    return jax.nn.log_softmax(x, axis=-1)


@_padded
def logsumexp(x):
    return jax.nn.logsumexp(x, axis=-1)


@_padded
def softmax_where(x, mask=None):
    return jax.nn.softmax(x, axis=-1, where=mask)


def attention(q, k, v, mask, scale):
    swapped = (a.swapaxes(1, 2) for a in (q, k, v))
    return jax.nn.dot_product_attention(*swapped, mask=mask, scale=scale).swapaxes(1, 2)


def library() -> Library:
    jax.config.update("jax_enable_x64", True)
    rows = dict(notes="rows padded by -inf to a power of four")
    return Library(
        "jax",
        jax.__version__,
        [
            *kernels_of("nn.softmax", "softmax", softmax, _DOCS + "jax.nn.softmax.html", **rows),
            *kernels_of("nn.log_softmax", "log_softmax", log_softmax, _DOCS + "jax.nn.log_softmax.html", **rows),
            *kernels_of("nn.logsumexp", "logsumexp", logsumexp, _DOCS + "jax.nn.logsumexp.html", **rows),
            *kernels_of("nn.softmax(where=)", "softmax", softmax_where, _DOCS + "jax.nn.softmax.html", ("float32", "float16"), notes=_WHERE),
            *kernels_of(
                "nn.dot_product_attention",
                "attention",
                attention,
                _DOCS + "jax.nn.dot_product_attention.html",
                ("float32", "float16", "bfloat16"),
                arrays="jax",
                arguments={"domain": "finite", "refuses": (ValueError,)},
                exempt=("kernel.accepts",),  # "value shape should be" where the values' dimension is not the keys'
                notes="a NaN behind a mask is not hidden",
            ),
        ],
    )

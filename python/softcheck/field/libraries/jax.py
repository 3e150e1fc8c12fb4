"""JAX on the CPU. It compiles for each shape, so that a budget holds fewer calls than elsewhere."""

import jax

from ..kernel import Library, kernels_of

_DOCS = "https://docs.jax.dev/en/latest/_autosummary/"


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def log_softmax(x):
    return jax.nn.log_softmax(x, axis=-1)


def logsumexp(x):
    return jax.nn.logsumexp(x, axis=-1)


def softmax_where(x, mask):
    return jax.nn.softmax(x, axis=-1, where=mask)


def attention(q, k, v, mask, scale):
    swapped = (a.swapaxes(1, 2) for a in (q, k, v))
    return jax.nn.dot_product_attention(*swapped, mask=mask, scale=scale).swapaxes(1, 2)


def library() -> Library:
    jax.config.update("jax_enable_x64", True)
    rows = dict(arrays="jax")
    return Library(
        "jax",
        jax.__version__,
        [
            *kernels_of("nn.softmax", "softmax", softmax, _DOCS + "jax.nn.softmax.html", **rows),
            *kernels_of("nn.log_softmax", "log_softmax", log_softmax, _DOCS + "jax.nn.log_softmax.html", **rows),
            *kernels_of("nn.logsumexp", "logsumexp", logsumexp, _DOCS + "jax.nn.logsumexp.html", **rows),
            *kernels_of("nn.softmax(where=)", "softmax", softmax_where, _DOCS + "jax.nn.softmax.html", ("float32", "float16"), **rows),
            *kernels_of(
                "nn.dot_product_attention",
                "attention",
                attention,
                _DOCS + "jax.nn.dot_product_attention.html",
                ("float32", "float16", "bfloat16"),
                arrays="jax",
                arguments={"domain": "finite"},
                notes="a NaN behind a mask is not hidden",
            ),
        ],
    )

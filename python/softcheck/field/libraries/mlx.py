"""MLX on the CPU."""

import importlib.metadata

import mlx.core as mx
import mlx.nn

from ..kernel import Library, kernels_of

_DOCS = "https://ml-explore.github.io/mlx/build/html/python/_autosummary/"
_DTYPES = ("float32", "float16", "bfloat16")  # float64 exists, without these kernels


def softmax(x):
    return mx.softmax(x, axis=-1)


def softmax_precise(x):
    return mx.softmax(x, axis=-1, precise=True)


def log_softmax(x):
    return mlx.nn.log_softmax(x, axis=-1)


def logsumexp(x):
    return mx.logsumexp(x, axis=-1)


def last_of_logcumsumexp(x):
    return mx.logcumsumexp(x, axis=-1)[..., -1]


def attention(q, k, v, mask, scale, causal):
    if causal and mask is None:
        mask = "causal"
    elif causal:
        mask = mx.logical_and(mask, mx.tri(q.shape[2], k.shape[2], k.shape[2] - q.shape[2], dtype=mx.bool_))
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)


def library() -> Library:
    mx.set_default_device(mx.cpu)
    rows = dict(arrays="mlx", dtypes=_DTYPES, arguments={"domain": "n>=1 rows>=1"})
    return Library(
        "mlx",
        importlib.metadata.version("mlx"),
        [
            *kernels_of("core.softmax", "softmax", softmax, _DOCS + "mlx.core.softmax.html", **rows),
            *kernels_of("core.softmax(precise=True)", "softmax", softmax_precise, _DOCS + "mlx.core.softmax.html", **rows),
            *kernels_of("nn.log_softmax", "log_softmax", log_softmax, "https://ml-explore.github.io/mlx/build/html/python/nn/_autosummary_functions/mlx.nn.log_softmax.html", **rows),
            *kernels_of("nn.log_softmax, n>=2", "log_softmax", log_softmax, "https://ml-explore.github.io/mlx/build/html/python/nn/_autosummary_functions/mlx.nn.log_softmax.html", **{**rows, "arguments": {"domain": "n>=2 rows>=1"}}),
            *kernels_of("core.logsumexp", "logsumexp", logsumexp, _DOCS + "mlx.core.logsumexp.html", **rows),
            *kernels_of("core.logcumsumexp, last item", "logsumexp", last_of_logcumsumexp, _DOCS + "mlx.core.logcumsumexp.html", **rows),
            *kernels_of(
                "fast.scaled_dot_product_attention",
                "attention",
                attention,
                _DOCS + "mlx.core.fast.scaled_dot_product_attention.html",
                _DTYPES,
                arrays="mlx",
                arguments={"domain": "finite batch>=1 heads>=1 keys>=1 queries>=1 dim>=1 values>=1"},
                notes="a NaN behind a mask is not hidden",
            ),
        ],
    )

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


def cross_entropy(logits, labels, label_smoothing):
    """An ignored row has the label 0, logits of 0 and a loss that is replaced by 0."""
    labels = labels.astype(mx.int32)
    logits = mx.where((labels >= 0)[:, None], logits, mx.zeros_like(logits))
    losses = mlx.nn.losses.cross_entropy(logits, mx.maximum(labels, 0), label_smoothing=label_smoothing, reduction="none")
    return mx.where(labels >= 0, losses, mx.zeros_like(losses))


def cross_entropy_backward(logits, labels, upstream, label_smoothing):
    return mx.vjp(lambda x: cross_entropy(x, labels, label_smoothing), [logits], [upstream])[1][0]


def attention_sinks(q, k, v, scale, causal, sinks, bias):
    if bias is not None and causal:
        seen = mx.tri(q.shape[2], k.shape[2], k.shape[2] - q.shape[2], dtype=mx.bool_)
        bias = mx.where(seen, bias, mx.array(-mx.inf, dtype=bias.dtype))
    mask = "causal" if causal and bias is None else bias
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask, sinks=sinks)


def _new_kernels():
    fast = _DOCS + "mlx.core.fast.scaled_dot_product_attention.html"
    losses = "https://ml-explore.github.io/mlx/build/html/python/nn/_autosummary_functions/mlx.nn.losses.cross_entropy.html"
    loss = dict(arrays="mlx", dtypes=_DTYPES, arguments={"domain": "n>=1 rows>=1"}, notes="an ignored row's logits, label and loss are replaced by 0 (where)")
    domain = "finite nomask batch>=1 heads>=1 keys>=1 queries>=1 dim>=1 values>=1"
    return [
        *kernels_of("nn.losses.cross_entropy", "cross_entropy", cross_entropy, losses, **loss),
        *kernels_of("nn.losses.cross_entropy, gradient", "cross_entropy_backward", cross_entropy_backward, losses, **loss),
        *kernels_of("fast.scaled_dot_product_attention(sinks, mask=bias)", "attention", attention_sinks, fast, ("float32",), arrays="mlx", arguments={"domain": domain + " sinks bias"}, exempt=("kernel.masked_row",), notes="without sinks a query that sees no key gives the mean of all values under mask='causal', and NaN under a mask of -inf"),
    ]


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
            *_new_kernels(),
        ],
    )

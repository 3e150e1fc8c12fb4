"""JAX on the CPU. It compiles for each shape (528 shapes took 199 s). So rows are padded to few shapes: zeros extend
the number of rows, and -inf, which does not change softmax, extends their length, each to the next power of four."""

import functools

import jax
import numpy
import optax
from jax.experimental.pallas.ops.gpu import attention as pallas_attention
from jax.experimental.pallas.ops.gpu import softmax as pallas_softmax

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


def attention_attributes(q, k, v, scale, causal, window, bias):
    # One side alone cannot be None: TypeError.
    sides = None if window == (-1, -1) else tuple(q.shape[2] + k.shape[2] if side < 0 else side for side in window)
    swapped = (a.swapaxes(1, 2) for a in (q, k, v))
    return jax.nn.dot_product_attention(
        *swapped, bias=bias, scale=scale, is_causal=causal, local_window_size=sides
    ).swapaxes(1, 2)


def _padded_loss(function):
    """Padded as above; an ignored row has the label 0, logits of 0 and a loss that is replaced by 0."""

    @functools.wraps(function)
    def called(x, labels, *upstream):
        rows, n = x.shape
        shape = (_power_of_four(rows), _power_of_four(n))
        logits = numpy.full(shape, -numpy.inf, x.dtype)
        logits[:rows, :n] = x
        logits[rows:] = 0
        given = [numpy.pad(a, (0, shape[0] - rows)) for a in (numpy.maximum(labels, 0).astype(numpy.int32), labels >= 0, *upstream)]
        result = numpy.asarray(function(logits, *given))
        return result[:rows] if result.ndim == 1 else result[:rows, :n]

    return called


def _losses(logits, labels, counted):
    logits = jax.numpy.where(counted[:, None], logits, 0)
    return jax.numpy.where(counted, optax.softmax_cross_entropy_with_integer_labels(logits, labels), 0)


@_padded_loss
def cross_entropy(logits, labels, counted):
    return _losses(logits, labels, counted)


@_padded_loss
def cross_entropy_backward(logits, labels, counted, upstream):
    return jax.vjp(lambda x: _losses(x, labels, counted), jax.numpy.asarray(logits))[1](jax.numpy.asarray(upstream))[0]


def soft_cross_entropy(logits, targets):
    return optax.softmax_cross_entropy(logits, targets)


def safe_soft_cross_entropy(logits, targets):
    return optax.safe_softmax_cross_entropy(logits, targets)


@jax.jit
def soft_cross_entropy_backward(logits, targets, upstream):
    return jax.vjp(lambda x: optax.softmax_cross_entropy(x, targets), logits)[1](upstream)[0]


def softmax_of_pallas(x):
    return pallas_softmax.softmax(x, interpret=True)


def attention_of_pallas(q, k, v, scale):
    swapped = (jax.numpy.asarray(a).swapaxes(1, 2) for a in (q, k, v))
    return pallas_attention.mha(*swapped, None, sm_scale=scale, interpret=True).swapaxes(1, 2)


def topk_of_softmax(logits, k):
    rows, n = logits.shape
    padded = numpy.full((_power_of_four(rows), _power_of_four(n)), -numpy.inf, logits.dtype)
    padded[:rows, :n] = logits
    wide = jax.numpy.asarray(padded, jax.numpy.float64 if logits.dtype == numpy.float64 else jax.numpy.float32)
    weights, ids = jax.lax.top_k(jax.nn.softmax(wide, axis=-1), k)
    return numpy.asarray(weights)[:rows], numpy.asarray(ids)[:rows]


_FEW = "n=1|3|17|64|1000|4097|70000 rows=1|3|513"


def _new_kernels():
    loss = "rows padded by -inf to a power of four; an ignored row's logits, label and loss are replaced by 0 (jnp.where)"
    optax_docs = "https://optax.readthedocs.io/en/latest/api/losses.html#optax.losses.softmax_cross_entropy_with_integer_labels"
    soft_docs = "https://optax.readthedocs.io/en/latest/api/losses.html#optax.losses.softmax_cross_entropy"
    pallas = "https://github.com/jax-ml/jax/tree/main/jax/experimental/pallas/ops/gpu"
    soft = []
    # Longer rows have no threshold in bfloat16.
    for dtype, lengths, contract in (("float32", _FEW, "exp=4ulp sum=sequential"), ("bfloat16", "n=1|3|17|64 rows=1|3", "acc=bf16 sum=tree subnormal=flushed")):
        words = dict(link=soft_docs, dtypes=(dtype,), contract=contract, arguments={"domain": lengths + " nozloss nosoftcap"})
        soft += [
            *kernels_of("optax.softmax_cross_entropy", "soft_cross_entropy", soft_cross_entropy, notes="a target of 0 times a logit of -inf is NaN", **{**words, "arguments": {"domain": lengths + " nozloss nosoftcap finite"}}),
            *kernels_of("optax.safe_softmax_cross_entropy", "soft_cross_entropy", safe_soft_cross_entropy, exempt=("kernel.nan_row",), notes="a target of 0 hides a NaN", **words),
            *kernels_of("optax.softmax_cross_entropy, gradient", "soft_cross_entropy_backward", soft_cross_entropy_backward, **words),
        ]
    interpreted = "Pallas's kernel for a GPU, in its interpreter on the CPU"
    few = dict(
        arguments={"domain": "finite nomask nocausal values=dim group=1 dim=16 scale=1/sqrt(dim) keys=1|128 queries=1|128 batch=1 heads=1|2"},
        notes=f"{interpreted}; compiled for each shape and scale",
    )
    mha = []
    for dtype, contract in (("float32", "exp=E:2,A:3 sum=sequential"), ("bfloat16", "exp=E:2,A:3 sum=sequential weights=bf16")):
        mha += kernels_of("pallas.ops.gpu.attention.mha", "attention", attention_of_pallas, pallas, (dtype,), contract=contract, **few)
    return [
        *soft,
        *kernels_of("pallas.ops.gpu.softmax", "softmax", softmax_of_pallas, pallas, ("float32", "bfloat16"), notes=interpreted, arguments={"domain": "n=1|3|17|64|1000|4097 rows=1|3|64"}),
        *mha,
        *kernels_of("optax.softmax_cross_entropy_with_integer_labels", "cross_entropy", cross_entropy, optax_docs, notes=loss, arguments={"domain": _FEW}),
        *kernels_of("optax.softmax_cross_entropy_with_integer_labels, gradient", "cross_entropy_backward", cross_entropy_backward, optax_docs, notes=loss, arguments={"domain": _FEW}),
        *kernels_of("lax.top_k(nn.softmax)", "topk_softmax", topk_of_softmax, _DOCS + "jax.lax.top_k.html", notes="of the softmax in float32 at least; rows padded by -inf to a power of four", exempt=("kernel.masked_row",), arguments={"domain": "n=3|17|64|1000|4097 rows=1|3|513 k=2"}),
        *kernels_of(
            "nn.dot_product_attention(bias, is_causal, local_window_size)",
            "attention",
            attention_attributes,
            _DOCS + "jax.nn.dot_product_attention.html",
            ("float32", "float16", "bfloat16"),
            arrays="jax",
            arguments={"domain": "finite nomask causal=top-left window bias keys>=1", "refuses": (ValueError,)},
            exempt=("kernel.accepts", "kernel.masked_row"),
            notes="causal and windows at the upper left",
        ),
    ]


def library() -> Library:
    jax.config.update("jax_enable_x64", True)
    rows = dict(notes="rows padded by -inf to a power of four")
    device = jax.devices()[0]
    return Library(
        "jax",
        jax.__version__ + ("" if device.platform == "cpu" else f" on {device.device_kind}"),
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
                exempt=("kernel.accepts",),  # "value shape should be" if the values' dimension is not the keys'
                notes="a NaN behind a mask is not hidden",
            ),
            *_new_kernels(),
        ],
    )

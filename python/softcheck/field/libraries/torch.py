"""PyTorch on the CPU, one thread."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right

from ..kernel import Library, kernels_of

_DOCS = "https://docs.pytorch.org/docs/stable/"
_ATTENTION = _DOCS + "generated/torch.nn.functional.scaled_dot_product_attention.html"


def softmax(x):
    return torch.softmax(x, -1)


def softmax_along_columns(x):
    return torch.softmax(x.T.contiguous(), 0).T


def log_softmax(x):
    return torch.log_softmax(x, -1)


def log_softmax_along_columns(x):
    return torch.log_softmax(x.T.contiguous(), 0).T


def logsumexp(x):
    return torch.logsumexp(x, -1)


def last_of_logcumsumexp(x):
    if x.shape[-1] == 0:
        return torch.full(x.shape[:-1], -torch.inf, dtype=x.dtype)
    return torch.logcumsumexp(x, -1)[..., -1]


def categorical_entropy(x):
    return torch.distributions.Categorical(logits=x, validate_args=False).entropy()


def _attention(backend, q, k, v, mask, scale, causal):
    bias = mask
    if causal and mask is not None:
        bias = mask & torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])
    elif causal:
        bias = causal_lower_right(q.shape[-2], k.shape[-2])._materialize()
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=bias, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
        )


def attention_math(q, k, v, mask, scale, causal):
    return _attention(SDPBackend.MATH, q, k, v, mask, scale, causal)


def attention_flash(q, k, v, mask, scale, causal):
    return _attention(SDPBackend.FLASH_ATTENTION, q, k, v, mask, scale, causal)


def library() -> Library:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    rows = dict(arrays="torch")
    seen = "finite"  # 0 * NaN: a NaN or an infinity behind a mask reaches the result, see notes
    attention = dict(
        arrays="torch",
        notes="a query that sees no key gives 0 (FLASH: or -0); causal at the lower right; a NaN behind a mask is not hidden (mask added to scores, weights of 0 multiplied)",
        arguments={"domain": seen},
    )
    # "No available kernel" where the values' dimension is not the keys'.
    # A query that sees no key gives 0 and, where the values are negative, -0, which masked=zero does not grant.
    exempt = ("kernel.accepts", "kernel.masked_row")
    flash = {**attention, "exempt": exempt, "arguments": {"domain": seen, "refuses": (RuntimeError,)}}
    return Library(
        "torch",
        torch.__version__,
        [
            *kernels_of("softmax(dim=-1)", "softmax", softmax, _DOCS + "generated/torch.softmax.html", **rows),
            *kernels_of("softmax(dim=0)", "softmax", softmax_along_columns, _DOCS + "generated/torch.softmax.html", **rows),
            *kernels_of("log_softmax(dim=-1)", "log_softmax", log_softmax, _DOCS + "generated/torch.nn.functional.log_softmax.html", **rows),
            *kernels_of("log_softmax(dim=0)", "log_softmax", log_softmax_along_columns, _DOCS + "generated/torch.nn.functional.log_softmax.html", **rows),
            *kernels_of("logsumexp", "logsumexp", logsumexp, _DOCS + "generated/torch.logsumexp.html", **rows),
            *kernels_of("logcumsumexp, last item", "logsumexp", last_of_logcumsumexp, _DOCS + "generated/torch.logcumsumexp.html", **rows),
            *kernels_of("distributions.Categorical.entropy", "entropy", categorical_entropy, _DOCS + "distributions.html#categorical", arguments={"domain": "n>=1"}, **rows),
            *kernels_of("scaled_dot_product_attention, MATH", "attention", attention_math, _ATTENTION, **attention),
            *kernels_of("scaled_dot_product_attention, FLASH", "attention", attention_flash, _ATTENTION, **flash),
        ],
        isolation="fork",
    )

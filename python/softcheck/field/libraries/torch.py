"""PyTorch on the CPU, one thread."""

import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.attention.flex_attention import AuxRequest, flex_attention

from ..kernel import Library, kernels_of

DOCS = "https://docs.pytorch.org/docs/stable/"
ATTENTION = DOCS + "generated/torch.nn.functional.scaled_dot_product_attention.html"


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
        return torch.full(x.shape[:-1], -torch.inf, dtype=x.dtype, device=x.device)
    return torch.logcumsumexp(x, -1)[..., -1]


def categorical_entropy(x):
    return torch.distributions.Categorical(logits=x, validate_args=False).entropy()


def _lower_right(q, k):
    """The keys that each query sees if causality aligns the last query with the last key."""
    return torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril(k.shape[-2] - q.shape[-2])


def _sdpa(backend, q, k, v, **words):
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=q.shape[1] != k.shape[1], **words)


def attention_by(backend, q, k, v, mask, scale, causal):
    bias = mask
    if causal and mask is not None:
        bias = mask & _lower_right(q, k)
    elif causal:
        bias = causal_lower_right(q.shape[-2], k.shape[-2])._materialize(q.device)
    return _sdpa(backend, q, k, v, attn_mask=bias, scale=scale)


def attention_math(q, k, v, mask, scale, causal):
    return attention_by(SDPBackend.MATH, q, k, v, mask, scale, causal)


def attention_flash(q, k, v, mask, scale, causal):
    return attention_by(SDPBackend.FLASH_ATTENTION, q, k, v, mask, scale, causal)


def attention_top_left(backend, q, k, v, scale, causal):
    return _sdpa(backend, q, k, v, is_causal=causal, scale=scale)


def attention_top_left_math(q, k, v, scale, causal):
    return attention_top_left(SDPBackend.MATH, q, k, v, scale, causal)


def attention_top_left_flash(q, k, v, scale, causal):
    return attention_top_left(SDPBackend.FLASH_ATTENTION, q, k, v, scale, causal)


def attention_top_left_flash_scaled(q, k, v, scale, causal):
    if causal and scale <= 0:
        raise RuntimeError("the kernel above shows it")
    return attention_top_left(SDPBackend.FLASH_ATTENTION, q, k, v, scale, causal)


def attention_bias(backend, q, k, v, scale, bias):
    return _sdpa(backend, q, k, v, attn_mask=bias, scale=scale)


def attention_bias_math(q, k, v, scale, bias):
    return attention_bias(SDPBackend.MATH, q, k, v, scale, bias)


def attention_bias_flash(q, k, v, scale, bias):
    return attention_bias(SDPBackend.FLASH_ATTENTION, q, k, v, scale, bias)


def attention_flex(q, k, v, scale, causal, window, softcap, alibi_slopes, bias):
    """Not compiled. Each attribute is written as in torch's documentation, in a score_mod."""
    offset = k.shape[-2] - q.shape[-2]

    def score_mod(score, batch, head, i, j):
        place = i + offset
        if softcap:
            score = softcap * torch.tanh(score / softcap)
        if alibi_slopes is not None:
            score = score - alibi_slopes[head] * (place - j).abs()
        if bias is not None:
            score = score + bias[batch, head if bias.shape[1] > 1 else 0, i, j]
        if causal:
            score = torch.where(j <= place, score, -torch.inf)
        if window[0] >= 0:
            score = torch.where(place - j <= window[0], score, -torch.inf)
        if window[1] >= 0:
            score = torch.where(j - place <= window[1], score, -torch.inf)
        return score

    out, aux = flex_attention(
        q, k, v, score_mod=score_mod, scale=scale, enable_gqa=q.shape[1] != k.shape[1], return_aux=AuxRequest(lse=True)
    )
    return out, aux.lse


def attention_gradient(backend, q, k, v, out_gradient, mask, scale, causal):
    """The gradient from the values that torch's forward pass saves."""
    bias = mask
    if causal:
        bias = _lower_right(q, k) if mask is None else mask & _lower_right(q, k)
    with torch.enable_grad(), sdpa_kernel(backend):
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        result = torch.nn.functional.scaled_dot_product_attention(
            *leaves, attn_mask=bias, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
        )
        return torch.autograd.grad(result, leaves, out_gradient)


def attention_gradient_math(q, k, v, out, lse, out_gradient, mask, scale, causal):
    return attention_gradient(SDPBackend.MATH, q, k, v, out_gradient, mask, scale, causal)


def attention_gradient_flash(q, k, v, out, lse, out_gradient, mask, scale, causal):
    return attention_gradient(SDPBackend.FLASH_ATTENTION, q, k, v, out_gradient, mask, scale, causal)


def softmax_backward(y, g):
    return torch.ops.aten._softmax_backward_data(g, y, -1, y.dtype)


def softmax_backward_along_columns(y, g):
    return torch.ops.aten._softmax_backward_data(g.T.contiguous(), y.T.contiguous(), 0, y.dtype).T


def log_softmax_backward(y, g):
    return torch.ops.aten._log_softmax_backward_data(g, y, -1, y.dtype)


def log_softmax_backward_along_columns(y, g):
    return torch.ops.aten._log_softmax_backward_data(g.T.contiguous(), y.T.contiguous(), 0, y.dtype).T


def cross_entropy(logits, labels, label_smoothing, ignore_index):
    return torch.nn.functional.cross_entropy(
        logits, labels.long(), reduction="none", label_smoothing=label_smoothing, ignore_index=ignore_index
    )


def cross_entropy_backward(logits, labels, upstream, label_smoothing, ignore_index):
    with torch.enable_grad():
        leaf = logits.detach().requires_grad_()
        return torch.autograd.grad(cross_entropy(leaf, labels, label_smoothing, ignore_index), leaf, upstream)[0]


def soft_cross_entropy(logits, targets):
    return torch.nn.functional.cross_entropy(logits, targets, reduction="none")


def soft_cross_entropy_backward(logits, targets, upstream):
    with torch.enable_grad():
        leaf = logits.detach().requires_grad_()
        return torch.autograd.grad(soft_cross_entropy(leaf, targets), leaf, upstream)[0]


def kl_divergence(logits, teacher, reverse):
    """kl_div(input, target) weighs by its target."""
    weighing, other = (logits, teacher) if reverse else (teacher, logits)
    weighing, other = torch.log_softmax(weighing, -1), torch.log_softmax(other, -1)
    return torch.nn.functional.kl_div(other, weighing, reduction="none", log_target=True).sum(-1)


def kl_divergence_backward(logits, teacher, upstream, reverse):
    with torch.enable_grad():
        leaf = logits.detach().requires_grad_()
        return torch.autograd.grad(kl_divergence(leaf, teacher, reverse), leaf, upstream)[0]


def topk_of_softmax(logits, k, renormalize):
    """The router of Mixtral and of most later models."""
    weights, ids = torch.topk(torch.softmax(logits, -1, dtype=None if logits.dtype == torch.float64 else torch.float32), k, -1)
    return (weights / weights.sum(-1, keepdim=True) if renormalize else weights), ids


def merge_states(out, lse):
    """The merger of context-parallel (ring) attention, which has no public name. An empty part's output is set to 0
    first."""
    from torch.distributed.tensor.experimental._context_parallel._attention import _SDPAMerger

    merger = _SDPAMerger(convert_to_f32=out.dtype != torch.float64, seq_dim=0)
    for one_out, one_lse in zip(out, lse):
        merger.step(torch.where(torch.isneginf(one_lse)[:, None], 0, one_out), one_lse, partial=False)
    merged, one_lse = merger.results()
    return merged.clone(), one_lse.clone()


def _attention_attributes():
    seen = "finite nomask"
    common = dict(arrays="torch", exempt=("kernel.accepts", "kernel.masked_row"))
    top_left = {**common, "notes": "is_causal stands at the upper left", "arguments": {"domain": seen + " causal=top-left", "refuses": (RuntimeError,)}}
    bias = {**common, "notes": "attn_mask is a tensor of the queries' dtype", "arguments": {"domain": seen + " nocausal bias", "refuses": (RuntimeError,)}}
    flex = {**common, "notes": "not compiled; attributes in a score_mod", "arguments": {"domain": seen + " window softcap alibi bias keys>=1 queries>=1 batch>=1", "outputs": 2}}
    return [
        *kernels_of("scaled_dot_product_attention(is_causal=True), MATH", "attention", attention_top_left_math, ATTENTION, **top_left),
        *kernels_of("scaled_dot_product_attention(is_causal=True), FLASH", "attention", attention_top_left_flash, ATTENTION, **top_left),
        *kernels_of("scaled_dot_product_attention(is_causal=True), FLASH, scale > 0", "attention", attention_top_left_flash_scaled, ATTENTION, **top_left),
        *kernels_of("scaled_dot_product_attention(attn_mask=bias), MATH", "attention", attention_bias_math, ATTENTION, **bias),
        *kernels_of("scaled_dot_product_attention(attn_mask=bias), FLASH", "attention", attention_bias_flash, ATTENTION, **bias),
        *kernels_of("flex_attention(score_mod)", "attention", attention_flex, DOCS + "nn.attention.flex_attention.html", **flex),
    ]


def _attention_gradients():
    # No contract of attention's gradient is inferred. Where FLASH stores P and dS, its source says so.
    narrow = "exp=4ulp sum=sequential scale=split masked=zero"
    common = dict(arrays="torch", exempt=("kernel.accepts",))
    math = {**common, "arguments": {"domain": "finite"}}
    flash = {**common, "arguments": {"domain": "finite dim=64 values=64 heads=4 group=1", "refuses": (RuntimeError,)}}
    name = "scaled_dot_product_attention, gradient"
    stored = [
        kernel
        for dtype, word in (("float16", "f16"), ("bfloat16", "bf16"))
        for kernel in kernels_of(f"{name}, FLASH", "attention_backward", attention_gradient_flash, ATTENTION, [dtype], contract=f"{narrow} weights={word} ds={word}", **flash)
    ]
    return [
        *kernels_of(f"{name}, MATH", "attention_backward", attention_gradient_math, ATTENTION, contract=narrow, **math),
        *kernels_of(f"{name}, FLASH", "attention_backward", attention_gradient_flash, ATTENTION, ["float64", "float32"], contract=narrow, **flash),
        *stored,
    ]


def gradients_and_losses():
    rows = dict(arrays="torch")
    loss = dict(arrays="torch", arguments={"domain": "n>=1"})
    kl = dict(arrays="torch", arguments={"domain": "n>=1 finite"})
    soft = dict(**kl, notes="a target of 0 times a logit of -inf is NaN")
    docs, kl_docs = (DOCS + f"generated/torch.nn.functional.{name}.html" for name in ("cross_entropy", "kl_div"))
    return [
        *kernels_of("softmax(dim=-1), gradient", "softmax_backward", softmax_backward, DOCS + "generated/torch.softmax.html", **rows),
        *kernels_of("softmax(dim=0), gradient", "softmax_backward", softmax_backward_along_columns, DOCS + "generated/torch.softmax.html", **rows),
        *kernels_of("log_softmax(dim=-1), gradient", "log_softmax_backward", log_softmax_backward, DOCS + "generated/torch.nn.functional.log_softmax.html", **rows),
        *kernels_of("log_softmax(dim=0), gradient", "log_softmax_backward", log_softmax_backward_along_columns, DOCS + "generated/torch.nn.functional.log_softmax.html", **rows),
        *kernels_of("cross_entropy", "cross_entropy", cross_entropy, docs, **loss),
        *kernels_of("cross_entropy, gradient", "cross_entropy_backward", cross_entropy_backward, docs, **loss),
        *kernels_of("cross_entropy of probabilities", "soft_cross_entropy", soft_cross_entropy, docs, **soft),
        *kernels_of("cross_entropy of probabilities, gradient", "soft_cross_entropy_backward", soft_cross_entropy_backward, docs, **loss),
        *kernels_of("kl_div(log_target=True) of log_softmax", "kl_divergence", kl_divergence, kl_docs, ["float64", "float32"], **kl),
        *kernels_of("kl_div(log_target=True), gradient", "kl_divergence_backward", kl_divergence_backward, kl_docs, ["float64", "float32"], **kl),
        *kernels_of("topk(softmax)", "topk_softmax", topk_of_softmax, DOCS + "generated/torch.topk.html", arrays="torch", notes="of the softmax in float32 at least, as Mixtral's router has it"),
        *kernels_of("ring attention's merger", "merge_states", merge_states, DOCS + "distributed.tensor.html", arrays="torch", notes="_SDPAMerger of torch.distributed.tensor.experimental; the outputs of empty parts are 0", arguments={"domain": "n>=2 rows>=1"}),
    ]


def rows():
    common = dict(arrays="torch")
    return [
        *kernels_of("softmax(dim=-1)", "softmax", softmax, DOCS + "generated/torch.softmax.html", **common),
        *kernels_of("softmax(dim=0)", "softmax", softmax_along_columns, DOCS + "generated/torch.softmax.html", **common),
        *kernels_of("log_softmax(dim=-1)", "log_softmax", log_softmax, DOCS + "generated/torch.nn.functional.log_softmax.html", **common),
        *kernels_of("log_softmax(dim=0)", "log_softmax", log_softmax_along_columns, DOCS + "generated/torch.nn.functional.log_softmax.html", **common),
        *kernels_of("logsumexp", "logsumexp", logsumexp, DOCS + "generated/torch.logsumexp.html", **common),
        *kernels_of("logcumsumexp, last item", "logsumexp", last_of_logcumsumexp, DOCS + "generated/torch.logcumsumexp.html", **common),
        *kernels_of("distributions.Categorical.entropy", "entropy", categorical_entropy, DOCS + "distributions.html#categorical", arguments={"domain": "n>=1"}, **common),
    ]


def library() -> Library:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    warnings.filterwarnings("ignore", "flex_attention called without torch.compile")
    torch.compiler.set_stance("force_eager")  # else flex_attention is traced for each shape, like JAX's functions
    seen = "nan=visible"  # 0 * NaN: a NaN or an infinity that a mask hides reaches the result, see notes
    attention = dict(
        arrays="torch",
        notes="a query that sees no key gives 0 or -0; causal at the lower right; a NaN behind a mask is not hidden (mask added to scores, weights of 0 multiplied)",
        exempt=("kernel.masked_row",),  # for negative values -0, which masked=zero does not grant
        arguments={"domain": seen},
    )
    # "No available kernel" if the values' dimension is not the keys'.
    flash = {**attention, "exempt": ("kernel.accepts", "kernel.masked_row"), "arguments": {"domain": seen, "refuses": (RuntimeError,)}}
    return Library(
        "torch",
        torch.__version__,
        [
            *rows(),
            *kernels_of("scaled_dot_product_attention, MATH", "attention", attention_math, ATTENTION, **attention),
            *kernels_of("scaled_dot_product_attention, FLASH", "attention", attention_flash, ATTENTION, **flash),
            *_attention_attributes(),
            *_attention_gradients(),
            *gradients_and_losses(),
        ],
        isolation="fork",
    )

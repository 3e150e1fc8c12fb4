"""Transformers on the CPU, one thread: attention as its models write it (attn_implementation="eager"), and the filters
of generate() in the order of generate(), which gives them float32."""

import types

import torch
import transformers
from transformers.generation import MinPLogitsWarper, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
from transformers.models.diffllama import modeling_diffllama
from transformers.models.gemma2 import modeling_gemma2
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.llama import modeling_llama

from ..kernel import Library, kernels_of

_MODELS = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/"
_FILTERS = "https://huggingface.co/docs/transformers/internal/generation_utils"
_STORED = "exp=4ulp sum=sequential masked=uniform scale=split weights={0} scores={0} values={0}"


def _seen(q, k, mask, causal):
    """The mask is the float one of eager_mask: the dtype's lowest number where a key is hidden."""
    if not causal:
        return mask
    seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])
    return torch.where(seen, 0 if mask is None else mask, torch.finfo(q.dtype).min).to(q.dtype)


def _attention(model, q, k, v, mask, scale, causal, sinks=None, **words):
    mask = _seen(q, k, mask, causal)
    module = types.SimpleNamespace(num_key_value_groups=q.shape[1] // k.shape[1], training=False, sinks=sinks)
    return model.eager_attention_forward(module, q, k, v, mask, scaling=scale, dropout=0.0, **words)[0].transpose(1, 2)


def llama(q, k, v, mask, scale, causal):
    return _attention(modeling_llama, q, k, v, mask, scale, causal)


def gemma2(q, k, v, mask, scale, causal, softcap):
    return _attention(modeling_gemma2, q, k, v, mask, scale, causal, softcap=softcap or None)


def gpt_oss(q, k, v, mask, scale, causal, sinks):
    """A model without sinks would have sinks of -inf."""
    sinks = torch.full((q.shape[1],), -torch.inf) if sinks is None else sinks
    return _attention(modeling_gpt_oss, q, k, v, mask, scale, causal, sinks.to(q.dtype))


class _Lambda:
    """In place of lambda_init: it is added in the queries' dtype, as a number is, and leaves the factor before o_proj at 1."""

    def __init__(self, value):
        self.value = value

    def __radd__(self, other):
        return other + self.value.to(other.dtype)

    def __rsub__(self, other):
        return other


def diffllama(q, k, v, q2, k2, lambdas, mask, scale, causal):
    """The maps are the two halves of the heads. Values are doubled, because the module joins two calls with half of them
    each. Projections, positions and the norm of the heads do nothing."""
    batch, heads, queries, _ = q.shape
    joined, keys = torch.cat([q, q2], 1), torch.cat([k, k2], 1)
    zero = torch.zeros(1)  # exp(0) - exp(0) is what the four vectors add to lambda_init
    module = types.SimpleNamespace(
        **dict.fromkeys(["q_proj", "k_proj", "v_proj"], lambda hidden: joined.transpose(1, 2).flatten(2)),
        **dict.fromkeys(["lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"], zero),
        **dict.fromkeys(["groupnorm", "o_proj"], lambda output: output),
        head_dim=q.shape[-1], layer_idx=0, scaling=scale, lambda_init=_Lambda(lambdas[0]), training=False,
        num_key_value_groups=heads // k.shape[1], config=types.SimpleNamespace(_attn_implementation="eager"),
    )
    cache = types.SimpleNamespace(update=lambda *_, **__: (keys, torch.cat([v, v], 1)))
    mask = _seen(q, k, mask, causal)
    if mask is not None and mask.dim() == 4 and mask.shape[1] > 1:  # a mask for each head
        mask = mask.repeat(1, 2, 1, 1)
    forward = modeling_diffllama.DiffLlamaAttention.forward
    positions = (torch.ones(1, 1, dtype=q.dtype), torch.zeros(1, 1, dtype=q.dtype))
    output = forward(module, joined.transpose(1, 2).flatten(2), positions, mask, cache)[0]
    return output.view(batch, queries, heads, 2, -1)[..., 0, :].transpose(1, 2)


def filtered(logits, theta, k, top_p, min_p):
    filters = [TemperatureLogitsWarper(theta)] if theta != 1 else []
    filters += [TopKLogitsWarper(k)] if k else []
    filters += [TopPLogitsWarper(top_p)] if 0 < top_p < 1 else []
    filters += [MinPLogitsWarper(min_p)] if min_p else []
    for each in filters:
        logits = each(None, logits)
    return torch.softmax(logits, -1)


def library() -> Library:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    notes = "a query that sees no key gives the average of all values; a NaN behind a mask is not hidden"

    def attention(model, function, words="", contract="", op="attention", name="eager_attention_forward"):
        arguments = {"domain": f"nan=visible keys>=1 {words}", "masks": "min"}
        rest = {"arrays": "torch", "notes": notes, "exempt": ("kernel.accepts", "kernel.masked_row"), "arguments": arguments}
        link = f"{_MODELS}{model}/modeling_{model}.py"
        found = kernels_of(f"{model}: {name}", op, function, link, ("float32",), contract=_STORED.split(" weights")[0], **rest)
        for dtype, word in (("float16", "f16"), ("bfloat16", "bf16")):
            stored = f"{_STORED} {contract}".format(word)
            found += kernels_of(f"{model}: {name}", op, function, link, (dtype,), contract=stored, **rest)
        return found

    return Library(
        "transformers",
        transformers.__version__,
        [
            *attention("llama", llama),
            *attention("gemma2", gemma2, "softcap", "softcap={0}"),
            *attention("gpt_oss", gpt_oss, "sinks", "sinks={0} differences={0}"),
            *attention("diffllama", diffllama, "batch>=1 queries>=1 lambda=shared", "", "differential_attention", "DiffLlamaAttention"),
            *kernels_of(
                "Temperature-, TopK-, TopP-, MinPLogitsWarper",
                "top_p_softmax",
                filtered,
                _FILTERS,
                ("float32",),
                arrays="torch",
                arguments={"domain": "renormalize=1 n>=1 rows>=1"},
            ),
        ],
        isolation="fork",
    )

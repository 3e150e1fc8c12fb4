"""Transformers on the CPU, one thread: attention as its models write it (attn_implementation="eager"), and the filters
of generate() in the order of generate(), which gives them float32."""

import types

import torch
import transformers
from transformers.generation import MinPLogitsWarper, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
from transformers.models.gemma2 import modeling_gemma2
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.llama import modeling_llama

from ..kernel import Library, kernels_of

_MODELS = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/"
_FILTERS = "https://huggingface.co/docs/transformers/internal/generation_utils"
_STORED = "exp=4ulp sum=sequential masked=uniform scale=split weights={0} scores={0} values={0}"


def _attention(model, q, k, v, mask, scale, causal, sinks=None, **words):
    """The mask is the float one of eager_mask: the dtype's lowest number where a key is hidden."""
    if causal:
        seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])
        mask = torch.where(seen, 0 if mask is None else mask, torch.finfo(q.dtype).min).to(q.dtype)
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

    def attention(model, function, words="", contract=""):
        arguments = {"domain": f"nan=visible keys>=1 {words}", "masks": "min"}
        rest = {"arrays": "torch", "notes": notes, "exempt": ("kernel.accepts", "kernel.masked_row"), "arguments": arguments}
        link = f"{_MODELS}{model}/modeling_{model}.py"
        found = kernels_of(f"{model}: eager_attention_forward", "attention", function, link, ("float32",), contract=_STORED.split(" weights")[0], **rest)
        for dtype, word in (("float16", "f16"), ("bfloat16", "bf16")):
            stored = f"{_STORED} {contract}".format(word)
            found += kernels_of(f"{model}: eager_attention_forward", "attention", function, link, (dtype,), contract=stored, **rest)
        return found

    return Library(
        "transformers",
        transformers.__version__,
        [
            *attention("llama", llama),
            *attention("gemma2", gemma2, "softcap", "softcap={0}"),
            *attention("gpt_oss", gpt_oss, "sinks", "sinks={0} differences={0}"),
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

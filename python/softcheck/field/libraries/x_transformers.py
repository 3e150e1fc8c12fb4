"""x-transformers on the CPU, one thread."""

import importlib.metadata

import torch
from x_transformers.attend import Attend

from ..kernel import Library, kernels_of


def attend(q, k, v, mask, scale, causal):
    return Attend(causal=causal, scale=scale)(q, k, v, mask=mask)[0]


def attend_softclamp(q, k, v, mask, scale, causal, softcap):
    clamp = {"softclamp_logits": True, "logit_softclamp_value": softcap} if softcap else {}
    return Attend(causal=causal, scale=scale, **clamp)(q, k, v, mask=mask)[0]


def attend_flash(q, k, v, mask, scale, causal):
    return Attend(causal=causal, scale=scale, flash=True)(q, k, v, mask=mask)[0]


def library() -> Library:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    # A query that sees no key gives 0 if its mask says so, and the average of all values if only the mask and causality together hide all keys.
    common = dict(
        op="attention",
        link="https://github.com/lucidrains/x-transformers/blob/main/x_transformers/attend.py",
        arrays="torch",
        notes="query head h reads key head h % kv_heads; a NaN behind a mask is not hidden",
        exempt=("kernel.accepts", "kernel.masked_row"),
    )
    seen = "nan=visible keys>=1 queries<=keys heads=interleaved"
    kernels = []
    for name, function, words, stored in (
        ("Attend", attend, "", "scale=split scores=bf16 values=bf16"),
        ("Attend(softclamp_logits=True)", attend_softclamp, " softcap", "scale=split scores=bf16 values=bf16 softcap=bf16"),
        ("Attend(flash=True)", attend_flash, "", "scale=stored"),
    ):
        arguments = {"domain": seen + words, "refuses": (RuntimeError,)}
        for dtype, contract in (("float32", None), ("bfloat16", f"exp=4ulp sum=sequential masked=zero weights=bf16 {stored}")):
            kernels += kernels_of(name, function=function, dtypes=(dtype,), contract=contract, arguments=arguments, **common)
    return Library("x_transformers", importlib.metadata.version("x_transformers"), kernels, isolation="fork")

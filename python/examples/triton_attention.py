"""Attention in one pass over the keys, in Triton, interpreted or compiled for a GPU: the running maximum, sum and output of
a block of keys.

    TRITON_INTERPRET=1 python triton_attention.py
    TRITON_INTERPRET=0 python triton_attention.py
"""

import math
import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is imported

import torch
import triton
import triton.language as tl

import softcheck


@triton.jit(do_not_specialize=["keys", "dim", "value_dim", "group", "queries"])  # else compiled for each kind of length
def attention_kernel(
    out, q, k, v, scale, keys, dim, value_dim, group, queries,
    D: tl.constexpr, DV: tl.constexpr, BLOCK: tl.constexpr, RESCALE: tl.constexpr,
):
    query = tl.program_id(0)  # of all batches and heads
    head = query // queries // group  # of k and v
    d, c = tl.arange(0, D), tl.arange(0, DV)
    of_query = tl.load(q + query * dim + d, mask=d < dim, other=0.0)
    maximum = -float("inf")
    total = 0.0
    result = tl.zeros([DV], tl.float32)
    for first in range(0, keys, BLOCK):
        j = first + tl.arange(0, BLOCK)
        inside = j < keys
        of_keys = tl.load(
            k + (head * keys + j)[:, None] * dim + d[None, :], mask=inside[:, None] & (d[None, :] < dim), other=0.0
        )
        scores = tl.where(inside, tl.sum(of_keys * of_query[None, :], axis=1) * scale, -float("inf"))
        largest = tl.max(scores, axis=0)
        largest = tl.where(tl.sum((scores != scores).to(tl.int32), axis=0) > 0, float("nan"), largest)
        # A NaN stays: no comparison with it holds.
        new = tl.where((maximum >= largest) | (maximum != maximum), maximum, largest)
        weights = tl.where(inside, tl.exp(scores - new), 0.0)
        rescale = tl.exp(maximum - new) if RESCALE else 1.0
        of_values = tl.load(
            v + (head * keys + j)[:, None] * value_dim + c[None, :],
            mask=inside[:, None] & (c[None, :] < value_dim),
            other=0.0,
        )
        total = total * rescale + tl.sum(weights, axis=0)
        result = result * rescale + tl.sum(weights[:, None] * of_values, axis=0)
        maximum = new
    tl.store(out + query * value_dim + c, result / total, mask=c < value_dim)


def _attention(q, k, v, rescale):
    batch, heads, queries, dim = q.shape
    kv_heads, keys, value_dim = k.shape[1], k.shape[2], v.shape[3]
    out = torch.full((batch, heads, queries, value_dim), float("nan"), dtype=q.dtype, device=q.device)
    if out.numel() and keys:
        attention_kernel[(batch * heads * queries,)](
            out, q, k, v, 1 / math.sqrt(dim), keys, dim, value_dim, heads // kv_heads, queries,
            D=triton.next_power_of_2(dim), DV=triton.next_power_of_2(value_dim), BLOCK=16, RESCALE=rescale,
        )
    return out


def attention(q, k, v):
    return _attention(q, k, v, True)


def attention_without_rescale(q, k, v):
    """The earlier blocks keep the weights of their own maximum: right for 16 keys, and where the first is the largest."""
    return _attention(q, k, v, False)


ON_A_GPU = os.environ["TRITON_INTERPRET"] == "0"
JUDGED = {"op": "attention", "arrays": "torch", "strides": False} | (
    {"device": "cuda", "domain": "batch<=2 heads<=4 queries<=64 keys<=300 dim=16 values=16", "contract": "exp=E:4,A:3 sum=lanes:16"}
    if ON_A_GPU
    else {"domain": "batch<=2 heads<=4 queries<=4 keys<=48 dim<=16 values<=16", "contract": "sum=lanes:16", "cases": 20}
)

if __name__ == "__main__":
    print(softcheck.check(attention, **JUDGED).summary)
    print(softcheck.check(attention_without_rescale, **JUDGED))

"""Functions of PyTorch: eager, compiled, and one that sums in bfloat16.

    python torch_compile.py
"""

import torch

import softcheck


def softmax(x):
    return torch.softmax(x, dim=-1)


_compiled = torch.compile(softmax, dynamic=True)


def compiled(x):
    """Compiled at its first call, and again for shapes of other kinds: that writes files, which a contained fork may not.
    isolation="spawn" calls it in an interpreter of its own."""
    return _compiled(x)


def softmax_in_bfloat16(x):
    """Right in float32, where it is tested; in bfloat16 the sum of 4096 equal terms stops at 256."""
    e = torch.exp(x - x.amax(dim=-1, keepdim=True)) if x.shape[-1] else x
    total = torch.zeros(x.shape[:-1], dtype=x.dtype)
    for i in range(min(x.shape[-1], 4096)):
        total = total + e[..., i]
    return e / total[..., None]


def attention(q, k, v):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


COMPILED = {"arrays": "torch", "isolation": "spawn", "domain": "n>=2 rows>=2 n<=4096", "time_limit": 120}
# torch 2.15 on the CPU answers 0 to a query with a NaN, where every other op of it answers NaN: noted, not judged.
ATTENTION = {
    "op": "attention",
    "dtype": torch.float32,
    "domain": "keys>=1 batch>=1 heads>=1",
    "exempt": "kernel.nan_row",
}

if __name__ == "__main__":
    for dtype in (torch.float32, torch.bfloat16):
        print(softcheck.check(softmax, dtype=dtype, contract="sum=tree" if dtype == torch.bfloat16 else None).summary)
    print(softcheck.check(compiled, **COMPILED).summary)
    print(softcheck.check(softmax_in_bfloat16, dtype=torch.bfloat16, domain="n<=4096").summary)
    print(softcheck.infer(attention, **ATTENTION).summary)

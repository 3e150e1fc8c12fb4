"""A softmax in Triton: without a GPU, where TRITON_INTERPRET=1 runs its programs in NumPy, and compiled for one.

    TRITON_INTERPRET=1 python triton_softmax.py
    TRITON_INTERPRET=0 python triton_softmax.py
"""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is imported

import torch
import triton
import triton.language as tl

import softcheck

ON_A_GPU = os.environ["TRITON_INTERPRET"] == "0"
# A GPU's exponential is ex2.approx of the argument times log2(e): the rounding of that product grows with the argument.
JUDGED = (
    {"arrays": "torch", "strides": False, "device": "cuda", "domain": "n<=4096", "contract": "exp=E:4,A:3 sum=tree"}
    if ON_A_GPU
    # Each call is interpreted: few cases, short rows.
    else {"arrays": "torch", "strides": False, "domain": "n<=256 rows<=64", "cases": 20, "contract": "sum=tree"}
)


@triton.jit(do_not_specialize=["columns"])  # else compiled anew for lengths of other kinds
def softmax_kernel(out, x, columns, BLOCK: tl.constexpr, OTHER: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    logits = tl.load(x + row * columns + offsets, mask=inside, other=OTHER)
    maximum = tl.max(logits, axis=0)
    # tl.max leaves NaN out: it must reach every value of its row.
    maximum = tl.where(tl.sum((logits != logits).to(tl.int32), axis=0) > 0, float("nan"), maximum)
    e = tl.exp(logits - maximum)
    tl.store(out + row * columns + offsets, e / tl.sum(e, axis=0), mask=inside)


def _softmax(x, other):
    out = torch.empty_like(x)
    rows, columns = x.shape
    if rows and columns:
        softmax_kernel[(rows,)](out, x, columns, BLOCK=triton.next_power_of_2(columns), OTHER=other)
    return out


def softmax(x):
    return _softmax(x, float("-inf"))


def softmax_padded_with_zeros(x):
    """Lanes beyond the row's end count as logits of 0: right where the length is a power of two."""
    return _softmax(x, 0.0)


if __name__ == "__main__":
    print(softcheck.check(softmax, **JUDGED).summary)
    print(softcheck.check(softmax_padded_with_zeros, **JUDGED))

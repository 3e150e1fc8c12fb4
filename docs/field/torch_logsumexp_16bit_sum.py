"""torch 2.15.0: logsumexp in float16 and bfloat16 adds, takes the logarithm and adds the maximum in 16 bits.

class: within a weaker contract
kernels: logsumexp float16; logsumexp bfloat16
"""
import sys, mpmath, torch

there = False
for dtype, row in ((torch.float16, [-1.25, 0.0]), (torch.bfloat16, [0.0, -5.5])):
    x = torch.tensor(row, dtype=dtype)
    got = torch.logsumexp(x, -1).item()
    exact = mpmath.log(sum(mpmath.exp(v) for v in row))
    print(f"logsumexp({row}), {dtype} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or got != torch.tensor(float(exact)).to(dtype).item()  # what float32, rounded once, returns
sys.exit(0 if there else f"not there in torch {torch.__version__}")

"""torch 2.15.0: logcumsumexp rounds its total after each item, in float64 of float64 and in float32 of float16, and stops growing beside a large maximum.

class: within a weaker contract
kernels: logcumsumexp, last item float64; logcumsumexp, last item float16
"""
import sys, mpmath, torch

there = False
for dtype, logit, n in ((torch.float64, 2**40, 10**5), (torch.float64, 4096, 16384), (torch.float16, 4096, 10**6), (torch.float16, 4096, 22170)):
    got = torch.logcumsumexp(torch.full((n,), logit, dtype=dtype), -1)[-1].item()
    exact = logit + mpmath.log(n)
    print(f"logcumsumexp({n} of {logit})[-1], {dtype} | {got} | {mpmath.nstr(exact, 18 if dtype == torch.float64 else 8)}")
    there = there or abs(got - exact) > 1
sys.exit(0 if there else f"not there in torch {torch.__version__}")

"""torch 2.15.0: logsumexp of 65,520 equal float16 logits is +inf: the sum overflows.

class: wrong
kernels: logsumexp float16
"""
import sys, mpmath, torch

got = torch.logsumexp(torch.zeros(65520, dtype=torch.float16), -1).item()
exact = mpmath.log(65520)
print(f"logsumexp(zeros(65520)) | {got} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if not abs(got - exact) < 0.01 else f"not there in torch {torch.__version__}")

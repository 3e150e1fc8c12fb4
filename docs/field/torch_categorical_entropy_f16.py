"""torch 2.15.0: distributions.Categorical(logits).entropy() of equal float16 logits is NaN: logsumexp overflows.

class: wrong
kernels: distributions.Categorical.entropy float16
"""
import sys, mpmath, torch

n = 65520
got = torch.distributions.Categorical(logits=torch.zeros(n, dtype=torch.float16), validate_args=False).entropy().item()
exact = mpmath.log(n)
print(f"Categorical(logits=zeros({n})).entropy() | {got} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if not abs(got - exact) < 0.1 else f"not there in torch {torch.__version__}")

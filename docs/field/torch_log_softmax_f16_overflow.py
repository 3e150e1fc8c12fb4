"""torch 2.15.0: log_softmax over the last axis, and cross_entropy, of 65,520 equal float16 logits: the sum overflows.

class: wrong
kernels: log_softmax(dim=-1) float16
"""
import sys, mpmath, torch

x = torch.zeros(1, 65520, dtype=torch.float16)  # one less is right; so is dim=0 of its transpose
got = torch.log_softmax(x, -1)[0, 0].item()
loss = torch.nn.functional.cross_entropy(x, torch.tensor([0])).item()
exact = -mpmath.log(65520)
print(f"log_softmax(zeros(65520))[0] | {got} | {mpmath.nstr(exact, 8)}")
print(f"cross_entropy(zeros(1, 65520), [0]) | {loss} | {mpmath.nstr(-exact, 8)}")
there = not abs(got - exact) < 0.01
sys.exit(0 if there else f"not there in torch {torch.__version__}")

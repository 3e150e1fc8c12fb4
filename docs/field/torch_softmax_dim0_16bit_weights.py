"""torch 2.15.0: softmax over an axis that is not the last stores its exponentials in 16 bits; over the last axis it does not.

class: within a weaker contract
kernels: softmax(dim=0) float16; softmax(dim=0) bfloat16
"""
import sys, mpmath, torch

x = torch.tensor([[2.0], [0.0]], dtype=torch.float16)
got, last = torch.softmax(x, 0)[1, 0].item(), torch.softmax(x.T, 1)[0, 1].item()
exact = 1 / (1 + mpmath.exp(2))
print(f"softmax([[2], [0]], dim=0)[1], float16 | {got} (dim=1 of the transpose: {last}) | {mpmath.nstr(exact, 8)}")
sys.exit(0 if got != last else f"not there in torch {torch.__version__}")

"""torch 2.15.0: scaled_dot_product_attention on the CPU (FLASH, the default) returns 0 in place of NaN for a query with a NaN that has fewer keys than a vector has lanes.

class: wrong
kernels: scaled_dot_product_attention, FLASH float32
"""
import sys, torch
from torch.nn.attention import SDPBackend, sdpa_kernel

q, k = torch.full((1, 1, 1, 1), torch.nan), torch.zeros(1, 1, 2, 1)
v = torch.tensor([1.0, 3.0]).reshape(1, 1, 2, 1)
got = torch.nn.functional.scaled_dot_product_attention(q, k, v).item()
with sdpa_kernel(SDPBackend.MATH):
    math = torch.nn.functional.scaled_dot_product_attention(q, k, v).item()
print(f"query NaN, two keys of 0, values [1, 3], float32 | {got} (MATH: {math}) | nan: every weight depends on the NaN")
sys.exit(0 if got == got else f"not there in torch {torch.__version__}, on this machine")

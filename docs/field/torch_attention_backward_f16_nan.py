"""torch 2.15.0: the gradient of scaled_dot_product_attention in float16 on the CPU (FLASH) is NaN where a score's gradient exceeds 65504; the exact one is 0.

class: wrong
kernels: scaled_dot_product_attention, gradient, FLASH float16
"""
import sys, torch
from torch.nn.attention import SDPBackend, sdpa_kernel

q, k = torch.zeros(1, 1, 1, 64).half().requires_grad_(), torch.zeros(1, 1, 2, 64).half().requires_grad_()
v = torch.stack([torch.full((64,), 32.0), torch.full((64,), -32.0)]).view(1, 1, 2, 64).half().requires_grad_()
with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
    torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=1.0).backward(torch.full((1, 1, 1, 64), 64.0).half())
got = [x.grad.flatten()[0].item() for x in (q, k)]
# dq = sum ds k and dk = ds q are 0 for q = k = 0, whatever ds is: here +-0.5 * 64 * 64 * 32 = +-65536, no float16.
print(f"dq, with q = k = 0, v = 32 and -32, dout = 64 (head dimension 64) | {got[0]} | 0")
print(f"dk | {got[1]} | 0")
sys.exit(0 if any(x != x for x in got) else f"not there in torch {torch.__version__}")

"""torch 2.15.0: the gradient of scaled_dot_product_attention in bfloat16 on the CPU (FLASH) adds dk and dv up in bfloat16, block of queries by block.

class: within a weaker contract
kernels: scaled_dot_product_attention, gradient, FLASH bfloat16
"""
import sys, torch
from torch.nn.attention import SDPBackend, sdpa_kernel

there = False
for queries, step in ((160, 32), (8192, 256)):
    q = torch.zeros(1, 1, queries, 64, dtype=torch.bfloat16)
    k, v = torch.zeros(1, 1, 1, 64, dtype=torch.bfloat16), torch.zeros(1, 1, 1, 64, dtype=torch.bfloat16).requires_grad_()
    dout = torch.zeros(1, 1, queries, 64, dtype=torch.bfloat16)
    dout[:, :, step::step], dout[:, :, 0] = 1, 256
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        torch.nn.functional.scaled_dot_product_attention(q, k, v).backward(dout)
    got, exact = v.grad.flatten()[0].item(), 256 + queries // step - 1  # one key: every p is 1, dv is the sum of dout
    print(f"dv of one key, {queries} queries, dout 256 and then 1 at every {step}th | {got} | {exact}")
    there = there or got == 256
sys.exit(0 if there else f"not there in torch {torch.__version__}")

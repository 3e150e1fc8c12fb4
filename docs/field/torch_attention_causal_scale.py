"""torch 2.15.0: scaled_dot_product_attention(is_causal=True) on the CPU is NaN in the first query where scale is 0 or negative.

class: wrong
kernels: scaled_dot_product_attention(is_causal=True), FLASH float64; scaled_dot_product_attention(is_causal=True), FLASH float32; scaled_dot_product_attention(is_causal=True), FLASH float16; scaled_dot_product_attention(is_causal=True), FLASH bfloat16
"""
import sys, torch

zero, values = torch.zeros(1, 1, 2, 4), torch.tensor([1.0, 3.0]).view(1, 1, 2, 1).repeat(1, 1, 1, 4)
attend = torch.nn.functional.scaled_dot_product_attention
there = False
for scale in (1.0, 0.0, -1.0):  # -inf behind the diagonal is multiplied by it
    got = attend(zero, zero, values, is_causal=True, scale=scale)[0, 0, :, 0].tolist()
    print(f"values [1, 3], equal scores, is_causal=True, scale={scale} | {got} | [1, 2]: the first query sees the first key alone")
    there = there or got[0] != 1
sys.exit(0 if there else f"not there in torch {torch.__version__}")

"""torch 2.15.0: a query that sees no key: 0 in scaled_dot_product_attention, NaN in nn.MultiheadAttention; a NaN behind a mask spreads.

class: convention
kernels: scaled_dot_product_attention, MATH float32; scaled_dot_product_attention, FLASH float32
"""
import sys, torch

zero, one = torch.zeros(1, 1, 1, 4), torch.ones(1, 1, 2, 4)
attend = torch.nn.functional.scaled_dot_product_attention
nothing, first = torch.tensor([[False, False]]), torch.tensor([[True, False]])
sdpa = attend(zero, one, one, attn_mask=nothing)[0, 0, 0, 0].item()
layer = torch.nn.MultiheadAttention(4, 1, batch_first=True)
module = layer(zero[0], one[0], one[0], key_padding_mask=~nothing)[0][0, 0, 0].item()
hidden = attend(zero, one, torch.tensor([1.0, torch.nan]).view(1, 1, 2, 1), attn_mask=first).item()
print(f"scaled_dot_product_attention, mask [False, False] | {sdpa} | undefined: no key")
print(f"nn.MultiheadAttention, both keys padded | {module} | undefined: no key")
print(f"scaled_dot_product_attention, values [1, nan], mask [True, False] | {hidden} | 1: the weight of the only visible key is 1")
sys.exit(0 if sdpa == 0 and module != module else f"not so in torch {torch.__version__}")

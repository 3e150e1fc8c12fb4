"""x_transformers 2.31.10: a query whose mask leaves only later keys averages all values, the hidden ones too, where causality is on.

class: convention
kernels: Attend float32; Attend(softclamp_logits=True) float32
"""
import sys, torch
from x_transformers.attend import Attend

q, k, v = torch.zeros(1, 1, 2, 1), torch.zeros(1, 1, 2, 1), torch.tensor([1.0, 5.0]).reshape(1, 1, 2, 1)
mask = torch.tensor([[False, True]])  # the second key alone
got = Attend(causal=True)(q, k, v, mask=mask)[0].flatten().tolist()
alone = Attend()(q, k, v, mask=torch.tensor([[False, False]]))[0].flatten().tolist()
print(f"values [1, 5], mask [False, True], causal, first query | {got[0]} (without causality, mask [False, False]: {alone[0]}) | undefined: no key")
sys.exit(0 if got[0] == 3 else "not so in this version of x_transformers")

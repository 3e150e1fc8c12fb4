"""transformers 5.24.0: gpt-oss's eager attention in bfloat16 stores its scores less their maximum in bfloat16.

class: within a weaker contract
kernels: gpt_oss: eager_attention_forward bfloat16
"""
import sys, types, mpmath, torch, transformers
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

one = lambda x: torch.full((1, 1, 1, 1), x, dtype=torch.bfloat16)
module = types.SimpleNamespace(num_key_value_groups=1, training=False, sinks=one(3.5).flatten())
got = eager_attention_forward(module, one(2.0**-11), one(144.0), one(1.0), None, scaling=1.0)[0].item()
score = mpmath.mpf(144) / 2**11
exact = 1 / (1 + mpmath.exp(3.5 - score))
print(f"query 2^-11, key 144, value 1, sink 3.5, bfloat16 | {got} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if abs(got - exact) > exact / 128 else f"not there in transformers {transformers.__version__}")

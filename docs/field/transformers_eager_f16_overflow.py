"""transformers 5.24.0: eager attention in float16 (Llama, Gemma 2, gpt-oss) is NaN where a query times two keys reaches 65,520 before it is scaled.

class: wrong
kernels: llama: eager_attention_forward float16; gemma2: eager_attention_forward float16; gpt_oss: eager_attention_forward float16
"""
import sys, types, torch, transformers
from transformers.models.llama.modeling_llama import eager_attention_forward

module = types.SimpleNamespace(num_key_value_groups=1, training=False)
q, k = torch.full((1, 1, 1, 64), 32.0), torch.full((1, 1, 2, 64), 32.0)
v = torch.tensor([1.0, 3.0]).reshape(1, 1, 2, 1)
got = [eager_attention_forward(module, *(x.to(dtype) for x in (q, k, v)), None, scaling=2.0**-11)[0].item() for dtype in (torch.float32, torch.float16)]
print(f"64 numbers of 32 in the query and both keys, values (1, 3), scale 2^-11, float16 | {got[1]} (float32: {got[0]}) | 2: equal scores of 32")
sys.exit(0 if got[1] != got[1] else f"not there in transformers {transformers.__version__}")

"""torch 2.15.0: flex_attention (not compiled) takes its log-sum-exps through base 2: that of a single key may be off its score by one unit in the last place, which an ordinary contract grants (exp=E:2,A:3).

class: convention
kernels: flex_attention(score_mod) float32; flex_attention(score_mod) float64
"""
import sys, torch
from torch.nn.attention.flex_attention import AuxRequest, flex_attention

there = False
for dtype, score in ((torch.float32, 240.0), (torch.float64, 112.0)):
    q, one = torch.full((1, 1, 1, 1), score, dtype=dtype), torch.ones(1, 1, 1, 1, dtype=dtype)
    got = flex_attention(q, one, one, scale=1.0, return_aux=AuxRequest(lse=True))[1].lse.item()
    print(f"one key of score {score}, {dtype} | {got!r} | {score}: ln(exp(x)) = x")
    there = there or got != score
sys.exit(0 if there else f"not there in torch {torch.__version__}")

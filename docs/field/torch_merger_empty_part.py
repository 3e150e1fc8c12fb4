"""torch 2.15.0: context parallelism's merger of partial attentions makes the log-sum-exp NaN where the first part is empty (-inf), and all where both are.

class: wrong
kernels: ring attention's merger float64; ring attention's merger float32; ring attention's merger float16; ring attention's merger bfloat16
"""
import sys, torch
from torch.distributed.tensor.experimental._context_parallel._attention import _SDPAMerger

there = False
for lse, exact in (([-torch.inf, 0.0], "3, 0: the second part alone"), ([0.0, -torch.inf], "1, 0"), ([-torch.inf, -torch.inf], "no key: 0 (or NaN), -inf")):
    merger = _SDPAMerger(convert_to_f32=True, seq_dim=0)
    for value, one in zip((1.0, 3.0), lse):
        merger.step(torch.full((1, 1), value if one == 0 else 0.0), torch.tensor([one]), partial=False)
    out, merged = (t.item() for t in merger.results())
    print(f"outputs 1 and 3 (0 where empty), log-sum-exps {lse} | {out}, {merged} | {exact}")
    there = there or (0.0 in lse and merged != 0)
sys.exit(0 if there else f"not there in torch {torch.__version__}")

"""torch 2.15.0: context parallelism's merger interpolates, so that a large output of no weight wipes out the other: of 10^8 at weight e^-50 and 3 it makes 0.

class: within a weaker contract
kernels: ring attention's merger float32; ring attention's merger float64
"""
import sys, mpmath, torch
from torch.distributed.tensor.experimental._context_parallel._attention import _SDPAMerger

there = False
for first, lse in ((1e8, -30.0), (1e8, 0.0), (100.0, 10.0)):
    merger = _SDPAMerger(convert_to_f32=True, seq_dim=0)
    merger.step(torch.full((1, 1), first), torch.tensor([lse]), partial=False)
    merger.step(torch.full((1, 1), 3.0), torch.tensor([20.0]), partial=False)
    got, weight = merger.results()[0].item(), mpmath.exp(mpmath.mpf(lse) - 20)
    exact = (first * weight + 3) / (weight + 1)
    print(f"outputs {first:g} and 3, log-sum-exps {lse} and 20 | {got} | {mpmath.nstr(exact, 8)}")
    there = there or abs(got - exact) > 1e-5
sys.exit(0 if there else f"not there in torch {torch.__version__}")

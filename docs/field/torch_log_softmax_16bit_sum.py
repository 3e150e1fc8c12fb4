"""torch 2.15.0: log_softmax over the last axis in bfloat16 and float16 rounds its sum and the sum's logarithm to 16 bits.

class: within a weaker contract
kernels: log_softmax(dim=-1) bfloat16; log_softmax(dim=-1) float16
"""
import sys, mpmath, torch

there = False
for dtype, row in ((torch.bfloat16, [0.0, -7.0]), (torch.bfloat16, [2.0, 0.0]), (torch.float16, [0.0, -7.0])):
    x = torch.tensor(row, dtype=dtype)
    got = torch.log_softmax(x, -1)[0].item()
    exact = row[0] - mpmath.log(sum(mpmath.exp(v) for v in row))
    best = torch.tensor(float(exact)).to(dtype).item()  # what float32 arithmetic, rounded once, returns
    print(f"log_softmax({row})[0], {dtype} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or got != best
sys.exit(0 if there else f"not there in torch {torch.__version__}")

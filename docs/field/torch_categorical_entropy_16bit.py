"""torch 2.15.0: distributions.Categorical(logits).entropy() in bfloat16 and float16 subtracts a log-sum-exp of 16 bits: of two logits of 100 the entropy is 0.5 in bfloat16.

class: within a weaker contract
kernels: distributions.Categorical.entropy bfloat16; distributions.Categorical.entropy float16
"""
import sys, mpmath, torch

there = False
for dtype, row in ((torch.bfloat16, [1.0, 1.0]), (torch.bfloat16, [100.0, 100.0]), (torch.bfloat16, [50.0, 48.0]), (torch.float16, [1000.0, 1000.0])):
    got = torch.distributions.Categorical(logits=torch.tensor(row, dtype=dtype)).entropy().item()
    weights = [mpmath.exp(v) for v in row]
    exact = -sum(w / sum(weights) * mpmath.log(w / sum(weights)) for w in weights)
    print(f"Categorical(logits={row}).entropy(), {dtype} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or abs(got - exact) > 0.1
sys.exit(0 if there else f"not there in torch {torch.__version__}")

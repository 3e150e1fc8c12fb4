"""torch 2.15.0: cross_entropy and its gradient in bfloat16 and float16 pass through a log_softmax that is rounded to 16 bits.

class: within a weaker contract
kernels: cross_entropy bfloat16; cross_entropy, gradient bfloat16; cross_entropy float16; cross_entropy, gradient float16
"""
import sys, mpmath, torch

there = False
for dtype, row, label in ((torch.bfloat16, [0.0, 2.0], 1), (torch.bfloat16, [0.0, -7.0], 0), (torch.float16, [0.0, -7.0], 0)):
    x = torch.tensor([row], dtype=dtype, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(x, torch.tensor([label]))
    loss.backward()
    exact = mpmath.log(sum(mpmath.exp(v) for v in row)) - row[label]
    slope = mpmath.exp(-exact) - 1
    print(f"cross_entropy([{row}], [{label}]), {dtype} | {loss.item():.8g} | {mpmath.nstr(exact, 8)}")
    print(f"its gradient by logit {label} | {x.grad[0, label].item():.8g} | {mpmath.nstr(slope, 8)}")
    there = there or loss.item() != torch.tensor(float(exact)).to(dtype).item()  # what float32, rounded once, returns
sys.exit(0 if there else f"not there in torch {torch.__version__}")

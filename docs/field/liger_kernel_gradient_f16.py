"""liger_kernel 0.8.5: the gradient of cross-entropy in 16 bits is rounded in the forward pass, and again when it meets the upstream gradient (Triton's interpreter).

class: within a weaker contract
kernels: LigerCrossEntropyFunction, gradient float16
"""
import importlib.metadata, os, sys

os.environ["TRITON_INTERPRET"] = "1"
import mpmath, torch
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

row, there = [0.25, 0.0, 0.0], False
for upstream in (1.0, 0.7998046875, 3.0):
    x = torch.tensor([row], dtype=torch.float16, requires_grad=True)
    loss = LigerCrossEntropyFunction.apply(x * 1, torch.tensor([0]), None, -100, 0.0, 0.0, "none", None, False, False, False)[0]
    got = torch.autograd.grad(loss, x, torch.tensor([upstream], dtype=torch.float16))[0][0, 1].item()
    exact = upstream / sum(mpmath.exp(v) for v in row)
    best = torch.tensor(float(exact)).half().item()  # what float32 arithmetic, rounded once, returns
    print(f"gradient of the loss of [{row}], label 0, by logit 1, upstream {upstream}, float16 | {got} (rounded once: {best}) | {mpmath.nstr(exact, 8)}")
    there = there or got != best
sys.exit(0 if there else f"not there in liger_kernel {importlib.metadata.version('liger_kernel')}")

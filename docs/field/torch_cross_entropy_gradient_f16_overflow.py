"""torch 2.15.0: the gradient of cross_entropy of 65,520 equal float16 logits is 0 for every class but the label's, that of log_softmax 1 for an exact 0: both read the saved -inf.

class: wrong
kernels: cross_entropy, gradient float16; cross_entropy float16
"""
import sys, mpmath, torch

n = 65520
x = torch.zeros(1, n, dtype=torch.float16, requires_grad=True)
torch.nn.functional.cross_entropy(x, torch.tensor([0])).backward()
got = x.grad[0, 1].item()
z = torch.zeros(1, n, dtype=torch.float16, requires_grad=True)
torch.log_softmax(z, -1).backward(torch.ones_like(z))
print(f"gradient of cross_entropy(zeros(1, {n}), [0]) by logit 1 | {got} | {mpmath.nstr(mpmath.mpf(1) / n, 8)}")
print(f"gradient of log_softmax(zeros({n})).sum() by logit 0 | {z.grad[0, 0].item()} | 0: 1 - {n} / {n}")
sys.exit(0 if got == 0 else f"not there in torch {torch.__version__}")

"""torch 2.15.0: a NaN in a row that cross_entropy ignores makes that row's gradient NaN. Its documentation: an ignored target "does not contribute to the input gradient".

class: wrong
kernels: cross_entropy, gradient float64; cross_entropy, gradient float32; cross_entropy, gradient float16; cross_entropy, gradient bfloat16
"""
import sys, torch

x = torch.tensor([[0.0, 1.0, 2.0], [1.0, torch.nan, 4.0]], requires_grad=True)
loss = torch.nn.functional.cross_entropy(x, torch.tensor([1, -100]))
loss.backward()
got = x.grad[1].tolist()
print(f"loss of [[0, 1, 2], [1, nan, 4]], labels [1, -100] | {loss.item():.7g} | 1.407606: the second row is ignored")
print(f"its gradient by the second row | {got} | [0, 0, 0]")
sys.exit(0 if got[0] != got[0] else f"not there in torch {torch.__version__}")

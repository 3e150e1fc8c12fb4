"""mlx 0.32.4: nn.losses.cross_entropy in bfloat16, and its gradient in float16 too, rounds each of its steps to 16 bits: with label smoothing the errors add up.

class: within a weaker contract
kernels: nn.losses.cross_entropy bfloat16; nn.losses.cross_entropy, gradient bfloat16; nn.losses.cross_entropy, gradient float16
"""
import importlib.metadata, sys, mlx.core as mx, mlx.nn, mpmath


def loss(logits):
    return mlx.nn.losses.cross_entropy(logits, mx.array([0]), label_smoothing=0.1, reduction="none")


mx.set_default_device(mx.cpu)
there = False
for row in ([-1.0, 0.0], [-2.0, 0.0], [0.0, 0.5]):
    got = loss(mx.array([row], dtype=mx.bfloat16)).item()
    lse = mpmath.log(sum(mpmath.exp(v) for v in row))
    exact = 0.9 * (lse - row[0]) + 0.1 * (lse - sum(row) / 2)
    best = mx.array(float(exact), dtype=mx.bfloat16).item()  # what float32 arithmetic, rounded once, returns
    print(f"cross_entropy([{row}], [0], label_smoothing=0.1), bfloat16 | {got} | {mpmath.nstr(exact, 8)}")
    there = there or got != best
for dtype in (mx.float16, mx.bfloat16):
    got = mx.grad(lambda x: loss(x).sum())(mx.zeros((1, 2), dtype=dtype))[0, 0].item()
    name = str(dtype).removeprefix("mlx.core.")
    print(f"gradient of cross_entropy([[0.0, 0.0]], [0], label_smoothing=0.1) by logit 0, {name} | {got} | -0.45: 0.5 - 0.95")
    there = there or got != mx.array(-0.45, dtype=dtype).item()
sys.exit(0 if there else f"not there in mlx {importlib.metadata.version('mlx')}")

"""mlx 0.32.4: nn.log_softmax in bfloat16 and float16 rounds x - max to 16 bits before its exponential, and the log-sum-exp that it subtracts.

class: within a weaker contract
kernels: nn.log_softmax, n>=2 bfloat16; nn.log_softmax, n>=2 float16
"""
import sys, importlib.metadata, mlx.core as mx, mlx.nn as nn, mpmath

mx.set_default_device(mx.cpu)
there = False
for dtype, row in (("bfloat16", [8.0, 2.0**-6]), ("bfloat16", [-0.1123046875, -0.3984375]), ("float16", [8.0, 2.0**-9])):
    got = nn.log_softmax(mx.array([row], dtype=getattr(mx, dtype)), axis=-1)[0, 0].item()
    exact = row[0] - mpmath.log(sum(mpmath.exp(v) for v in row))
    best = mx.array(float(exact)).astype(getattr(mx, dtype)).item()  # what float32 arithmetic, rounded once, returns
    print(f"nn.log_softmax([{row}])[0, 0], {dtype} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or got != best
sys.exit(0 if there else f"not there in mlx {importlib.metadata.version('mlx')}")

"""mlx 0.32.4: logcumsumexp stores its total after each item, and stops growing: in float16 at 6.24, in float32 at 14.56; beside a maximum of 16,384, float32 at 6.93 above it.

class: within a weaker contract
kernels: core.logcumsumexp, last item float32; core.logcumsumexp, last item float16; core.logcumsumexp, last item bfloat16
"""
import sys, importlib.metadata, mlx.core as mx, mpmath

mx.set_default_device(mx.cpu)
there = False
for dtype, logit, n in (("float16", 0, 70000), ("float32", 0, 10**7), ("float32", 16384, 10**5), ("float32", 16384, 3)):
    x = mx.full((n,), logit, dtype=getattr(mx, dtype))
    got, other = mx.logcumsumexp(x, axis=-1)[-1].item(), mx.logsumexp(x, axis=-1).item()
    exact = logit + mpmath.log(n)
    print(f"logcumsumexp({n} of {logit}, {dtype})[-1] | {got} (logsumexp: {other}) | {mpmath.nstr(exact, 10)}")
    there = there or abs(got - exact) > 0.1
sys.exit(0 if there else f"not there in mlx {importlib.metadata.version('mlx')}")

"""mlx 0.32.4: logcumsumexp in float16 stops growing: of 70,000 zeros it ends at 6.24, not at 11.16.

class: within a weaker contract
kernels: core.logcumsumexp, last item float16; core.logcumsumexp, last item bfloat16
"""
import sys, importlib.metadata, mlx.core as mx, mpmath

mx.set_default_device(mx.cpu)
got = mx.logcumsumexp(mx.zeros(70000, mx.float16), axis=-1)[-1].item()
exact = mpmath.log(70000)
print(f"logcumsumexp(zeros(70000, float16))[-1] | {got} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if abs(got - exact) > 0.1 else f"not there in mlx {importlib.metadata.version('mlx')}")

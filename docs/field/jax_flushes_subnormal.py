"""jax 0.10.2: coefficients below the smallest normal number are 0 (XLA flushes them on the CPU), in float64 too.

class: convention
kernels: nn.softmax float64; nn.softmax float32
"""
import sys, jax, mpmath

jax.config.update("jax_enable_x64", True)
got = {}
for dtype, logit in (("float32", -88.0), ("float64", -710.0)):
    got[dtype] = float(jax.nn.softmax(jax.numpy.array([0.0, logit], dtype))[1])
    print(f"softmax([0, {logit}])[1], {dtype} | {got[dtype]} | {mpmath.nstr(1 / (1 + mpmath.exp(-logit)), 8)}")
sys.exit(0 if got["float64"] == 0 else f"not there in jax {jax.__version__}, on this machine")

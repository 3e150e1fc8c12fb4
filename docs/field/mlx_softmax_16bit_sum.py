"""mlx 0.32.4: softmax without precise=True adds in 16 bits: bfloat16 coefficients of 4,096 equal logits sum to 16.

class: within a weaker contract
kernels: core.softmax bfloat16; core.softmax float16
"""
import sys, importlib.metadata, mlx.core as mx, mpmath

mx.set_default_device(mx.cpu)
got = {}
for n in (4096, 131072):
    got[n] = mx.softmax(mx.zeros(n, mx.bfloat16), axis=-1)[0].item()
    print(f"softmax(zeros({n}, bfloat16))[0] | {got[n]} (all of them: {n * got[n]:g}) | {mpmath.nstr(mpmath.mpf(1) / n, 8)}")
sys.exit(0 if got[4096] > 2 / 4096 else f"not there in mlx {importlib.metadata.version('mlx')}")

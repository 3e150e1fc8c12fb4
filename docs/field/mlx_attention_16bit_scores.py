"""mlx 0.32.4: fast.scaled_dot_product_attention in float16 and bfloat16 stores query times scale, the scores and their weights in 16 bits (CPU).

class: within a weaker contract
kernels: fast.scaled_dot_product_attention float16; fast.scaled_dot_product_attention bfloat16
"""
import sys, importlib.metadata, mlx.core as mx, mpmath

mx.set_default_device(mx.cpu)
there = False
for dtype, query, keys in (("float16", 128, (64, 63.75)), ("float16", 1.5, (2, 0)), ("bfloat16", 16, (64, 63.75))):
    one = lambda items: mx.array(items, dtype=getattr(mx, dtype)).reshape(1, 1, -1, 1)
    got = mx.fast.scaled_dot_product_attention(one([query]), one(keys), one([1.0, 0.0]), scale=0.1).item()
    exact = 1 / (1 + mpmath.exp(mpmath.mpf(0.1) * query * (keys[1] - keys[0])))
    print(f"query {query}, keys {keys}, values (1, 0), scale 0.1, {dtype} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or abs(got - exact) > 0.01
sys.exit(0 if there else f"not there in mlx {importlib.metadata.version('mlx')}")

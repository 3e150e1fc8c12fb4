"""mlx 0.32.4: a query that sees no key gets the mean of all values, hidden as they are; a NaN behind a mask spreads.

class: convention
kernels: fast.scaled_dot_product_attention float32
"""
import sys, importlib.metadata, mlx.core as mx

mx.set_default_device(mx.cpu)
zero, keys = mx.zeros((1, 1, 1, 64)), mx.ones((1, 1, 2, 64))
got = []
for last, mask in ((5.0, [[False, False]]), (mx.nan, [[True, False]])):
    values = mx.array([1.0, last]).reshape(1, 1, 2, 1) * mx.ones((1, 1, 2, 64))
    got.append(mx.fast.scaled_dot_product_attention(zero, keys, values, scale=1.0, mask=mx.array(mask))[0, 0, 0, 0].item())
    exact = "undefined: no key" if last == 5 else "1: the weight of the only visible key is 1"
    print(f"scaled_dot_product_attention, values [1, {last}], mask {mask[0]} | {got[-1]} | {exact}")
sys.exit(0 if got[0] == 3 else f"not so in mlx {importlib.metadata.version('mlx')}")

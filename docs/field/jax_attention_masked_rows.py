"""jax 0.10.2: a query that sees no key gets the mean of all values, hidden as they are; a NaN behind a mask spreads.

class: convention
kernels: nn.dot_product_attention float32; nn.dot_product_attention float16; nn.dot_product_attention bfloat16
"""
import sys, jax
import jax.numpy as jnp

means = []
for dtype in (jnp.float32, jnp.float16, jnp.bfloat16):
    zero, keys = jnp.zeros((1, 1, 1, 4), dtype), jnp.ones((1, 2, 1, 4), dtype)
    values = jnp.array([1.0, 5.0], dtype).reshape(1, 2, 1, 1) * jnp.ones((1, 2, 1, 4), dtype)
    nothing, first = jnp.zeros((1, 1, 1, 2), bool), jnp.array([True, False]).reshape(1, 1, 1, 2)
    means.append(float(jax.nn.dot_product_attention(zero, keys, values, mask=nothing)[0, 0, 0, 0]))
    hidden = float(jax.nn.dot_product_attention(zero, keys, values.at[0, 1].set(jnp.nan), mask=first)[0, 0, 0, 0])
    print(f"dot_product_attention, values [1, 5], mask [False, False], {dtype.__name__} | {means[-1]} | undefined: no key")
    print(f"dot_product_attention, values [1, nan], mask [True, False], {dtype.__name__} | {hidden} | 1: the weight of the only visible key is 1")
sys.exit(0 if means == [3, 3, 3] else f"not so in jax {jax.__version__}")

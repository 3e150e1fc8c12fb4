"""jax 0.10.2: a query that sees no key gets the mean of all values, hidden as they are; a NaN behind a mask spreads.

class: convention
kernels: nn.dot_product_attention float32
"""
import sys, jax
import jax.numpy as jnp

zero, keys, values = jnp.zeros((1, 1, 1, 4)), jnp.ones((1, 2, 1, 4)), jnp.array([1.0, 5.0]).reshape(1, 2, 1, 1) * jnp.ones((1, 2, 1, 4))
nothing, first = jnp.zeros((1, 1, 1, 2), bool), jnp.array([True, False]).reshape(1, 1, 1, 2)
mean = float(jax.nn.dot_product_attention(zero, keys, values, mask=nothing)[0, 0, 0, 0])
hidden = float(jax.nn.dot_product_attention(zero, keys, values.at[0, 1].set(jnp.nan), mask=first)[0, 0, 0, 0])
print(f"dot_product_attention, values [1, 5], mask [False, False] | {mean} | undefined: no key")
print(f"dot_product_attention, values [1, nan], mask [True, False] | {hidden} | 1: the weight of the only visible key is 1")
sys.exit(0 if mean == 3 else f"not so in jax {jax.__version__}")

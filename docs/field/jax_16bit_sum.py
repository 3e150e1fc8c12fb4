"""jax 0.10.2: softmax, log_softmax and logsumexp in float16 and bfloat16 round each step to 16 bits: differences, exponentials, the sum, its logarithm.

class: within a weaker contract
kernels: nn.softmax float16; nn.softmax bfloat16; nn.log_softmax float16; nn.log_softmax bfloat16; nn.logsumexp float16; nn.logsumexp bfloat16
"""
import sys, jax, mpmath
import jax.numpy as jnp

there = False
for dtype, row in ((jnp.bfloat16, [2.0, 0.0]), (jnp.bfloat16, [0.0, -7.0]), (jnp.float16, [0.0, -7.0])):
    got = float(jax.nn.log_softmax(jnp.array(row, dtype))[0])
    exact = row[0] - mpmath.log(sum(mpmath.exp(v) for v in row))
    print(f"log_softmax({row})[0], {dtype.__name__} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or got != float(jnp.array(float(exact), dtype))  # what float32, rounded once, returns
for dtype, row in ((jnp.bfloat16, [0.015625, 8.0]), (jnp.bfloat16, [1.875, 0.0]), (jnp.float16, [0.0, 0.1669921875])):
    got = float(jax.nn.softmax(jnp.array(row, dtype))[0])
    exact = mpmath.exp(row[0]) / sum(mpmath.exp(v) for v in row)
    print(f"softmax({row})[0], {dtype.__name__} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or got != float(jnp.array(float(exact), dtype))
sys.exit(0 if there else f"not there in jax {jax.__version__}")

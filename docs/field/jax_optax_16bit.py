"""jax 0.10.2: optax 0.2.6's softmax_cross_entropy_with_integer_labels in bfloat16 and float16 subtracts a log-sum-exp of 16 bits: of a likely label nothing is left.

class: within a weaker contract
kernels: optax.softmax_cross_entropy_with_integer_labels bfloat16; optax.softmax_cross_entropy_with_integer_labels float16
"""
import sys, jax, mpmath, optax

there = False
for dtype, row, label in (("bfloat16", [8.0, 4.0], 0), ("bfloat16", [100.0, 99.0], 0), ("float16", [100.0, 97.0], 0)):
    got = float(optax.softmax_cross_entropy_with_integer_labels(jax.numpy.array([row], dtype), jax.numpy.array([label]))[0])
    exact = mpmath.log(sum(mpmath.exp(v) for v in row)) - row[label]
    print(f"optax's loss of [{row}], label {label}, {dtype} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or abs(got - exact) > exact / 100
sys.exit(0 if there else f"not there in jax {jax.__version__}")

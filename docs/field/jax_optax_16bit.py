"""jax 0.10.2: optax 0.2.6's softmax_cross_entropy_with_integer_labels in bfloat16 and float16 subtracts a log-sum-exp of 16 bits: of a likely label nothing is left. Its gradient rounds each step as well.

class: within a weaker contract
kernels: optax.softmax_cross_entropy_with_integer_labels bfloat16; optax.softmax_cross_entropy_with_integer_labels float16; optax.softmax_cross_entropy_with_integer_labels, gradient bfloat16; optax.softmax_cross_entropy_with_integer_labels, gradient float16
"""
import sys, jax, mpmath, optax

there = False
for dtype, row, label in (("bfloat16", [8.0, 4.0], 0), ("bfloat16", [100.0, 99.0], 0), ("float16", [100.0, 97.0], 0)):
    got = float(optax.softmax_cross_entropy_with_integer_labels(jax.numpy.array([row], dtype), jax.numpy.array([label]))[0])
    exact = mpmath.log(sum(mpmath.exp(v) for v in row)) - row[label]
    print(f"optax's loss of [{row}], label {label}, {dtype} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or abs(got - exact) > exact / 100
for dtype, row, item in (("bfloat16", [-0.25, -0.25, 0.0], 1), ("float16", [0.0, -0.5, -0.5], 0)):
    slope = jax.grad(lambda x: optax.softmax_cross_entropy_with_integer_labels(x, jax.numpy.array([0]))[0])(jax.numpy.array([row], dtype))
    got, exact = float(slope[0, item]), mpmath.exp(row[item]) / sum(mpmath.exp(v) for v in row) - (item == 0)
    print(f"its gradient by logit {item} of [{row}], label 0, {dtype} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or got != float(jax.numpy.array(float(exact), dtype))  # what float32 arithmetic, rounded once, returns
sys.exit(0 if there else f"not there in jax {jax.__version__}")

"""jax 0.10.2: optax 0.2.6's softmax_cross_entropy and safe_softmax_cross_entropy in bfloat16 round each step to 16 bits: of a likely class nothing is left.

class: within a weaker contract
kernels: optax.softmax_cross_entropy bfloat16; optax.safe_softmax_cross_entropy bfloat16
"""
import sys, jax, mpmath, optax

got = 1.0
for row in ([0.0, -7.0], [2.0, 0.0]):
    x, labels = jax.numpy.array([row], jax.numpy.bfloat16), jax.numpy.array([[1, 0]], jax.numpy.bfloat16)
    exact = mpmath.log(1 + mpmath.exp(row[1] - row[0]))
    got = min(got, abs(float(optax.softmax_cross_entropy(x, labels)[0])))
    print(f"softmax_cross_entropy({row}, [1, 0]), bfloat16 | {float(optax.softmax_cross_entropy(x, labels)[0])} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if got == 0 else f"not there in jax {jax.__version__}")

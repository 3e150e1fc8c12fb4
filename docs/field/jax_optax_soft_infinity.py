"""jax 0.10.2: optax 0.2.6's softmax_cross_entropy is NaN where a class of target 0 has a logit of -inf; safe_softmax_cross_entropy is for such rows.

class: convention
kernels: optax.softmax_cross_entropy float32
"""
import sys, jax, optax

x, labels = jax.numpy.array([[0, -jax.numpy.inf]]), jax.numpy.array([[1.0, 0.0]])
got, safe = (float(loss(x, labels)[0]) for loss in (optax.softmax_cross_entropy, optax.safe_softmax_cross_entropy))
print(f"softmax_cross_entropy([0, -inf], [1, 0]) | {got} (safe_softmax_cross_entropy: {safe}) | 0")
sys.exit(0 if got != got else f"not so in jax {jax.__version__}")

"""jax 0.10.2: optax 0.2.6's softmax_cross_entropy_with_integer_labels has no ignored label: -100 makes the loss NaN and leaves the gradient the row's coefficients.

class: convention
kernels: optax.softmax_cross_entropy_with_integer_labels float32; optax.softmax_cross_entropy_with_integer_labels, gradient float32
"""
import sys, jax, optax

x = jax.numpy.array([[0.0, 1.0, 2.0]])
loss, slope = jax.value_and_grad(lambda x: optax.softmax_cross_entropy_with_integer_labels(x, jax.numpy.array([-100]))[0])(x)
print(f"optax's loss of [[0, 1, 2]], label -100 | {loss} | undefined: no such class")
print(f"its gradient | {slope[0].tolist()} | undefined: no such class")
sys.exit(0 if loss != loss else f"not so in jax {jax.__version__}")

"""jax 0.10.2: optax 0.2.6's softmax_cross_entropy_with_integer_labels of 65,520 equal float16 logits is +inf and its gradient 0; the gradient of log_softmax is NaN.

class: wrong
kernels: optax.softmax_cross_entropy_with_integer_labels float16; optax.softmax_cross_entropy_with_integer_labels, gradient float16
"""
import sys, jax, mpmath, optax

n = 65520
x = jax.numpy.zeros((1, n), jax.numpy.float16)
loss, slope = jax.value_and_grad(lambda x: optax.softmax_cross_entropy_with_integer_labels(x, jax.numpy.array([0]))[0])(x)
other = jax.vjp(jax.nn.log_softmax, x)[1](jax.numpy.ones_like(x))[0][0, 0]
print(f"optax's loss of zeros((1, {n})), label 0 | {float(loss)} | {mpmath.nstr(mpmath.log(n), 8)}")
print(f"its gradient by logit 1 | {float(slope[0, 1])} | {mpmath.nstr(mpmath.mpf(1) / n, 8)}")
print(f"gradient of log_softmax(zeros({n})).sum() by logit 0 | {float(other)} | 0: 1 - {n} / {n}")
sys.exit(0 if not float(loss) < 12 else f"not there in jax {jax.__version__}")

"""jax 0.10.2: softmax, log_softmax and logsumexp of 65,520 equal float16 logits: the sum overflows.

class: wrong
kernels: nn.softmax float16; nn.log_softmax float16; nn.logsumexp float16; nn.softmax(where=) float16
"""
import sys, jax, mpmath

x = jax.numpy.zeros(65520, jax.numpy.float16)
log = mpmath.log(65520)
rows = [
    ("softmax", jax.nn.softmax(x)[0], mpmath.mpf(1) / 65520),
    ("log_softmax", jax.nn.log_softmax(x)[0], -log),
    ("logsumexp", jax.nn.logsumexp(x), log),
]
for name, got, exact in rows:
    print(f"{name}(zeros(65520, float16)) | {got} | {mpmath.nstr(exact, 8)}")
there = any(not abs(float(got) / exact - 1) < 0.01 for _, got, exact in rows)
sys.exit(0 if there else f"not there in jax {jax.__version__}")

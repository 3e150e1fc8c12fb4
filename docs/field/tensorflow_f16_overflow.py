"""tensorflow 2.21.0: softmax, log_softmax and reduce_logsumexp of 65,520 equal float16 logits: the sum overflows.

class: wrong
kernels: nn.softmax float16; nn.log_softmax float16; reduce_logsumexp float16
"""
import sys, mpmath, tensorflow as tf

x = tf.zeros([1, 65520], tf.float16)
log = mpmath.log(65520)
rows = [
    ("nn.softmax", tf.nn.softmax(x)[0, 0], mpmath.mpf(1) / 65520),
    ("nn.log_softmax", tf.nn.log_softmax(x)[0, 0], -log),
    ("reduce_logsumexp", tf.reduce_logsumexp(x), log),
]
for name, got, exact in rows:
    print(f"{name}(zeros([1, 65520], float16)) | {float(got)} | {mpmath.nstr(exact, 8)}")
there = any(not abs(float(got) / exact - 1) < 0.01 for _, got, exact in rows)
sys.exit(0 if there else f"not there in tensorflow {tf.__version__}")

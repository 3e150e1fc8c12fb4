"""tensorflow 2.21.0: log_softmax and reduce_logsumexp in float16 and bfloat16 store the sum and its logarithm in 16 bits.

class: within a weaker contract
kernels: nn.log_softmax float16; nn.log_softmax bfloat16; reduce_logsumexp float16; reduce_logsumexp bfloat16
"""
import sys, mpmath, tensorflow as tf

there = False
for dtype, row in ((tf.bfloat16, [2.0, 0.0]), (tf.bfloat16, [0.0, -7.0]), (tf.float16, [0.0, -7.0])):
    got = float(tf.nn.log_softmax(tf.constant([row], dtype))[0, 0])
    exact = row[0] - mpmath.log(sum(mpmath.exp(v) for v in row))
    print(f"nn.log_softmax({row})[0], {dtype.name} | {got} | {mpmath.nstr(exact, 8)}")
    there = there or got != float(tf.constant(float(exact), dtype))  # what float32, rounded once, returns
sys.exit(0 if there else f"not there in tensorflow {tf.__version__}")

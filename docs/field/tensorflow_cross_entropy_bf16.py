"""tensorflow 2.21.0: nn.sparse_softmax_cross_entropy_with_logits in bfloat16 stores its sum and the sum's logarithm in 16 bits.

class: within a weaker contract
kernels: nn.sparse_softmax_cross_entropy_with_logits bfloat16; nn.sparse_softmax_cross_entropy_with_logits, gradient bfloat16
"""
import os, sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import mpmath, tensorflow as tf

there = False
for row, label in (([0.0, 2.0], 1), ([0.0, -7.0], 0)):
    got = float(tf.nn.sparse_softmax_cross_entropy_with_logits([label], tf.constant([row], tf.bfloat16))[0])
    exact = mpmath.log(sum(mpmath.exp(v) for v in row)) - row[label]
    print(f"sparse_softmax_cross_entropy_with_logits([{label}], [{row}]), bfloat16 | {got} | {mpmath.nstr(exact, 8)}")
    there = there or got != float(tf.cast(float(exact), tf.bfloat16))
sys.exit(0 if there else f"not there in tensorflow {tf.__version__}")

"""tensorflow 2.21.0: the gradients of nn.softmax and nn.log_softmax in bfloat16 and float16 round their products and sums to 16 bits.

class: within a weaker contract
kernels: nn.softmax, gradient float16; nn.softmax, gradient bfloat16; nn.log_softmax, gradient float16; nn.log_softmax, gradient bfloat16
"""
import os, sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import mpmath, tensorflow as tf

there = False
for dtype, n in ((tf.bfloat16, 4096), (tf.bfloat16, 65536), (tf.float16, 4096)):
    x = tf.zeros([1, n], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.log_softmax(x)
    coefficient = float(tf.exp(y)[0, 0])
    got = float(tape.gradient(y, x, output_gradients=tf.ones_like(x))[0, 0])
    exact = 1 - mpmath.exp(float(y[0, 0])) * n  # from the log-probability that it saved
    print(f"log_softmax(zeros([1, {n}])), upstream 1, saved {float(y[0, 0])}, {dtype.name} | {got:.6g} | {mpmath.nstr(exact, 6)}")
    there = there or abs(got - exact) > abs(exact) / 100
sys.exit(0 if there else f"not there in tensorflow {tf.__version__}")

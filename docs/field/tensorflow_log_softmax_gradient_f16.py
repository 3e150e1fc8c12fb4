"""tensorflow 2.21.0: the gradient of nn.log_softmax in float16 is NaN or -inf where the upstream gradients' sum overflows: for ones, of 65,520 logits.

class: wrong
kernels: nn.log_softmax, gradient float16
"""
import os, sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

there = False
for n, upstream in ((32768, 1.0), (65520, 1.0), (40000, 2.0)):
    x = tf.zeros([1, n], tf.float16)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.log_softmax(x)
    got = tape.gradient(y, x, output_gradients=upstream * tf.ones_like(x)).numpy()[0, 0]
    print(f"log_softmax(zeros([1, {n}])), upstream gradients {upstream} | {got} | 0: {upstream} - sum / {n}")
    there = there or not abs(got) < 1
sys.exit(0 if there else f"not there in tensorflow {tf.__version__}")

"""tensorflow 2.21.0: a NaN does not reach its row of nn.softmax in float32 (oneDNN's kernel, the default): [0, NaN] -> [0, NaN].

class: wrong
kernels: nn.softmax float32; nn.softmax bfloat16
"""
import sys, tensorflow as tf

got = tf.nn.softmax(tf.constant([0.0, float("nan")])).numpy()
half = tf.nn.softmax(tf.constant([0.0, float("nan")], tf.float16)).numpy()
print(f"nn.softmax([0, nan]), float32 | {got} (float16: {half}) | [nan nan]: every coefficient depends on the NaN")
sys.exit(0 if got[0] == got[0] else f"not there in tensorflow {tf.__version__}, on this machine")

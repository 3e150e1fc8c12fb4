"""openvino 2026.4.1: ScaledDotProductAttention of a float32, float64 or float16 model runs in bfloat16 where the CPU has AVX512_BF16.

Documented: the default inference precision is the fastest that the machine has; INFERENCE_PRECISION_HINT=f32 is exact.

class: convention
kernels: ScaledDotProductAttention 13 float32; ScaledDotProductAttention 13 float64; ScaledDotProductAttention 13 float16
"""
import sys, numpy, openvino, openvino.opset13 as ops

got = {}
for hint in (None, "f32"):
    q, k, v = (ops.parameter([-1, -1, -1, -1], openvino.Type.f32) for _ in range(3))
    model = openvino.Model([ops.scaled_dot_product_attention(q, k, v)], [q, k, v])
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": hint} if hint else {})
    zero, one = numpy.zeros((1, 1, 1, 4), numpy.float32), numpy.full((1, 1, 1, 1), 1.0009765625, numpy.float32)
    got[hint] = compiled([zero, zero, one])[0].item()
    print(f"one key, value 1.0009765625, hint {hint} | {got[hint]} | 1.0009765625: the weight of a single key is 1")
sys.exit(0 if got[None] != got["f32"] else f"not there in openvino {openvino.__version__}, on this machine")

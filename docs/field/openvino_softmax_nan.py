"""openvino 2026.4.1: a NaN does not reach its row of Softmax 8: [0, NaN] -> [0, NaN]; LogSoftmax [NaN, 0] -> [NaN, -inf].

class: wrong
kernels: Softmax 8 float32; Softmax 8 float16; Softmax 8 bfloat16; Softmax 8 float64; LogSoftmax 5 float32
"""
import sys, numpy, openvino, openvino.opset13 as ops

nan = numpy.nan
got = {}
for name, op, row in (("Softmax", ops.softmax, [0, nan]), ("LogSoftmax", ops.log_softmax, [nan, 0])):
    x = ops.parameter([-1, -1], openvino.Type.f32)
    model = openvino.Core().compile_model(openvino.Model([op(x, 1)], [x]), "CPU")
    got[name] = model([numpy.array([row], numpy.float32)])[0][0]
    print(f"{name}({row}), float32 | {got[name]} | [nan nan]: every result depends on the NaN")
there = any(numpy.isfinite(row).any() or numpy.isinf(row).any() for row in got.values())
sys.exit(0 if there else f"not there in openvino {openvino.__version__}, on this machine")

"""openvino 2026.4.1: LogSoftmax 5 in float64 returns -3.4e38 where the logit, and the result, is -inf.

class: wrong
kernels: LogSoftmax 5 float64
"""
import sys, numpy, openvino, openvino.opset13 as ops

x = ops.parameter([-1, -1], openvino.Type.f64)
model = openvino.Core().compile_model(openvino.Model([ops.log_softmax(x, 1)], [x]), "CPU")
got = model([numpy.array([[-numpy.inf, 0.0]])])[0][0]
masked = model([numpy.full((1, 2), -numpy.inf)])[0][0]
print(f"LogSoftmax([-inf, 0]), float64 | {got} | [-inf 0]")
print(f"LogSoftmax([-inf, -inf]), float64 | {masked} | undefined: NaN in openvino's float32, -0.69 here")
sys.exit(0 if numpy.isfinite(got[0]) else f"not there in openvino {openvino.__version__}")

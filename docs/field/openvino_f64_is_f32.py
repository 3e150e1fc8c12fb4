"""openvino 2026.4.1: the CPU plugin computes float64 models in float32, as its documentation says.

class: convention
kernels: Softmax 8 float64
"""
import sys, mpmath, numpy, openvino, openvino.opset13 as ops

x = ops.parameter([-1, -1], openvino.Type.f64)
model = openvino.Core().compile_model(openvino.Model([ops.softmax(x, 1)], [x]), "CPU")
got = model([numpy.array([[0.0, -7.0]])])[0][0, 1]
mpmath.mp.dps = 30
exact = mpmath.exp(-7) / (1 + mpmath.exp(-7))
print(f"Softmax([0, -7])[1], float64 | {got:.17g} | {mpmath.nstr(exact, 17)}")
sys.exit(0 if abs(got / exact - 1) > 1e-12 else f"not there in openvino {openvino.__version__}")

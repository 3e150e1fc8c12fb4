"""onnxruntime 1.32.0: ReduceLogSumExp does not subtract the maximum where the row begins with -inf: [-inf, -128] -> -inf.

class: wrong
kernels: ReduceLogSumExp 13 float32; ReduceLogSumExp 13 float64; ReduceLogSumExp 13 float16; ReduceLogSumExp 18 float32; ReduceLogSumExp 18 float64
"""
import sys, mpmath, numpy, onnxruntime
from onnx import TensorProto, helper

x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [None, None]), ("y", None)))
graph = helper.make_graph([helper.make_node("ReduceLogSumExp", ["x"], ["y"], axes=[1], keepdims=0)], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10).SerializeToString()
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
got = {}
for row in ([-numpy.inf, -128.0], [-128.0, -numpy.inf], [-numpy.inf, -100.0]):
    got[row[0], row[1]] = session.run(None, {"x": numpy.array([row], numpy.float32)})[0][0]
    exact = mpmath.log(sum(mpmath.exp(v) for v in row))
    print(f"ReduceLogSumExp({row}), float32 | {got[row[0], row[1]]} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if got[-numpy.inf, -128.0] != -128 else f"not there in onnxruntime {onnxruntime.__version__}")

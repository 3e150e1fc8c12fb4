"""onnxruntime 1.32.0: LogSoftmax in float64 of a row with a NaN: [0, NaN] -> [46.05, NaN], a probability of 10^20.

class: wrong
kernels: LogSoftmax 13 float64
"""
import sys, numpy, onnxruntime
from onnx import TensorProto, helper

kind = TensorProto.DOUBLE
x, y = (helper.make_tensor_value_info(name, kind, shape) for name, shape in (("x", [None, None]), ("y", None)))
graph = helper.make_graph([helper.make_node("LogSoftmax", ["x"], ["y"], axis=-1)], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10).SerializeToString()
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
got = session.run(None, {"x": numpy.array([[0.0, numpy.nan]])})[0][0]
print(f"LogSoftmax([0, nan]), float64 | {got} | [nan nan]: every result depends on the NaN, and none may exceed 0")
sys.exit(0 if got[0] > 0 else f"not there in onnxruntime {onnxruntime.__version__}")

"""onnxruntime 1.32.0: ReduceLogSumExp 18 in float16 does not subtract the maximum: of one logit, 1024, it is +inf.

class: wrong
kernels: ReduceLogSumExp 18 float16
"""
import sys, numpy, onnxruntime
from onnx import TensorProto, helper

kind = TensorProto.FLOAT16
x, y = (helper.make_tensor_value_info(name, kind, shape) for name, shape in (("x", [None, None]), ("y", None)))
axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
graph = helper.make_graph([helper.make_node("ReduceLogSumExp", ["x", "axes"], ["y"], keepdims=0)], "g", [x], [y], [axes])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
got = {}
for value in (1024, -1024):
    got[value] = session.run(None, {"x": numpy.array([[value]], numpy.float16)})[0][0]
    print(f"ReduceLogSumExp([{value}]), float16 | {got[value]} | {value}: ln(exp(x)) = x")
sys.exit(0 if got[1024] != 1024 else f"not there in onnxruntime {onnxruntime.__version__}")

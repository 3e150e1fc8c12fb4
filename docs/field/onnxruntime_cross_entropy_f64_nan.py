"""onnxruntime 1.32.0: SoftmaxCrossEntropyLoss in float64 of a row with a NaN is finite, and negative.

class: wrong
kernels: SoftmaxCrossEntropyLoss 13 float64
"""
import sys, numpy, onnxruntime
from onnx import TensorProto, helper

kind = TensorProto.DOUBLE
x, loss = (helper.make_tensor_value_info(name, kind, shape) for name, shape in (("x", [None, None]), ("loss", None)))
y = helper.make_tensor_value_info("y", TensorProto.INT64, [None])
node = helper.make_node("SoftmaxCrossEntropyLoss", ["x", "y"], ["loss"], reduction="none")
model = helper.make_model(helper.make_graph([node], "g", [x, y], [loss]), opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
got = session.run(None, {"x": numpy.array([[0.0, numpy.nan]]), "y": numpy.array([0])})[0][0]
print(f"SoftmaxCrossEntropyLoss([[0, nan]], [0]), float64 | {got} | nan: the loss depends on the NaN, and none is below 0")
sys.exit(0 if got < 0 else f"not there in onnxruntime {onnxruntime.__version__}")

"""cv2 5.0.0: LogSoftmax of the DNN module takes the logarithm of a coefficient: of (96, 0) the second result is -inf.

class: wrong
kernels: dnn: LogSoftmax float32
"""
import sys, cv2, numpy
from onnx import TensorProto, helper

ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2]) for name in "xy"]
graph = helper.make_graph([helper.make_node("LogSoftmax", ["x"], ["y"], axis=-1)], "g", ends[:1], ends[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
net = cv2.dnn.readNetFromONNX(numpy.frombuffer(model.SerializeToString(), numpy.uint8))
net.setInput(numpy.array([[96, 0]], numpy.float32))
got = net.forward()[0, 1]
print(f"LogSoftmax([96, 0])[1], float32 | {got} | -96: ln(1 + exp(-96)) is below 10^-41")
sys.exit(0 if numpy.isinf(got) else f"not there in cv2 {cv2.__version__}")

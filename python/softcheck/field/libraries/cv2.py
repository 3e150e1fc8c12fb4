"""OpenCV on the CPU, one thread: the DNN module runs an ONNX model of one node."""

import functools

import cv2
import numpy
from onnx import TensorProto, helper

from ..kernel import Library, kernels_of


@functools.lru_cache(None)
def _net(op, shape):
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], axis=-1)], op, ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return cv2.dnn.readNetFromONNX(numpy.frombuffer(model.SerializeToString(), numpy.uint8))


def _run(op, x):
    net = _net(op, x.shape)
    net.setInput(numpy.ascontiguousarray(x))
    return net.forward().reshape(x.shape).copy()


def softmax(x):
    return _run("Softmax", x)


def log_softmax(x):
    return _run("LogSoftmax", x)


def library() -> Library:
    cv2.setNumThreads(1)
    docs = "https://docs.opencv.org/5.x/d6/d0f/group__dnn.html"
    common = dict(dtypes=("float32",), arguments={"domain": "n>=1 rows>=1"})
    return Library(
        "cv2",
        cv2.__version__,
        [
            *kernels_of("dnn: Softmax", "softmax", softmax, docs, **common),
            *kernels_of("dnn: LogSoftmax", "log_softmax", log_softmax, docs, **common),
        ],
        isolation="fork",
    )

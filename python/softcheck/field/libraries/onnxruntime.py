"""ONNX Runtime on the CPU, one thread. A model of one node for each kernel and dtype, its axes dynamic."""

import functools

import numpy
import onnxruntime
from onnx import TensorProto, helper

from ..kernel import Library, kernels_of

_DOCS = "https://onnx.ai/onnx/operators/onnx__"
_TYPES = {
    "float64": TensorProto.DOUBLE,
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
}


@functools.lru_cache(None)
def _session(op, opset, dtype, inputs, attributes, axes):
    """inputs are pairs (name, rank); axes are an attribute, and from opset 18 on an input that is constant here."""
    kind = _TYPES[dtype]
    words = dict(attributes)
    if axes and opset < 18:
        words["axes"], axes = axes, ()
    node = helper.make_node(op, [name for name, _ in inputs] + ["axes"] * bool(axes), ["out"], **words)
    graph = helper.make_graph(
        [node],
        op,
        [helper.make_tensor_value_info(name, kind, [f"{name}{i}" for i in range(rank)]) for name, rank in inputs],
        [helper.make_tensor_value_info("out", kind, None)],
        [helper.make_tensor("axes", TensorProto.INT64, [len(axes)], axes)] if axes else [],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _run(op, opset, *arrays, axes=(), **attributes):
    inputs = tuple((name, array.ndim) for name, array in zip("qkv", arrays))
    session = _session(op, opset, arrays[0].dtype.name, inputs, tuple(attributes.items()), axes)
    return session.run(None, {name: numpy.ascontiguousarray(a) for (name, _), a in zip(inputs, arrays)})[0]


def softmax(x):
    return _run("Softmax", 13, x, axis=-1)


def log_softmax(x):
    return _run("LogSoftmax", 13, x, axis=-1)


def reduce_log_sum_exp_13(x):
    return _run("ReduceLogSumExp", 13, x, axes=(1,), keepdims=0)


def reduce_log_sum_exp_18(x):
    return _run("ReduceLogSumExp", 18, x, axes=(1,), keepdims=0)


def attention(q, k, v):
    return _run("Attention", 23, q, k, v)


def library() -> Library:
    rows = dict(dtypes=("float64", "float32", "float16"), arguments={"domain": "n>=1 rows>=1"})
    return Library(
        "onnxruntime",
        onnxruntime.__version__,
        [
            *kernels_of("Softmax 13", "softmax", softmax, _DOCS + "Softmax.html", **rows),
            *kernels_of("LogSoftmax 13", "log_softmax", log_softmax, _DOCS + "LogSoftmax.html", **rows),
            *kernels_of("ReduceLogSumExp 13", "logsumexp", reduce_log_sum_exp_13, _DOCS + "ReduceLogSumExp.html", **rows),
            *kernels_of("ReduceLogSumExp 18", "logsumexp", reduce_log_sum_exp_18, _DOCS + "ReduceLogSumExp.html", **rows),
            *kernels_of(
                "Attention 23",
                "attention",
                attention,
                _DOCS + "Attention.html",
                ("float32", "float16"),
                arguments={"domain": "finite batch>=1 heads>=1 keys>=1 queries>=1 dim>=1 values>=1"},
                notes="without masks; its causal stands at the upper left: not judged",
                exempt=("kernel.masked_row",),
            ),
        ],
    )

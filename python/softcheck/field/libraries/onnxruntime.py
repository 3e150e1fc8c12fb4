"""ONNX Runtime on the CPU, one thread. Each kernel and dtype has a model of one node with dynamic axes."""

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
    """inputs are pairs (name, rank); axes are an attribute, and from opset 18 on an input, which is constant here."""
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


@functools.lru_cache(None)
def _session_of(nodes, inputs, outputs, opset):
    """nodes are tuples (op, inputs, outputs, domain, attributes); inputs tuples (name, type, rank), outputs (name, type)."""
    graph = helper.make_graph(
        [helper.make_node(op, list(ins), list(outs), domain=domain, **dict(words)) for op, ins, outs, domain, words in nodes],
        "graph",
        [helper.make_tensor_value_info(name, kind, [f"{name}{i}" for i in range(rank)]) for name, kind, rank in inputs],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def cross_entropy(logits, labels, ignore_index):
    kind = _TYPES[logits.dtype.name]
    node = ("SoftmaxCrossEntropyLoss", ("x", "y"), ("loss",), "", (("reduction", "none"), ("ignore_index", ignore_index)))
    label = TensorProto.INT64 if labels.dtype == numpy.int64 else TensorProto.INT32
    session = _session_of((node,), (("x", kind, 2), ("y", label, 1)), (("loss", kind),), 13)
    return session.run(None, {"x": numpy.ascontiguousarray(logits), "y": numpy.ascontiguousarray(labels)})[0]


def topk_of_softmax(logits, k):
    kind = _TYPES[logits.dtype.name]
    wide = kind if kind == TensorProto.DOUBLE else TensorProto.FLOAT
    nodes = (
        ("Cast", ("x",), ("wide",), "", (("to", wide),)),
        ("Softmax", ("wide",), ("p",), "", (("axis", -1),)),
        ("TopK", ("p", "k"), ("weights", "ids"), "", (("axis", -1),)),
    )
    outputs = (("weights", wide), ("ids", TensorProto.INT64))
    session = _session_of(nodes, (("x", kind, 2), ("k", TensorProto.INT64, 1)), outputs, 13)
    return session.run(None, {"x": numpy.ascontiguousarray(logits), "k": numpy.array([k])})


def attention_with_attributes(q, k, v, scale, causal, softcap, bias):
    """Opset 24: is_causal aligns the first query with the first key; attn_mask is the bias."""
    kind = _TYPES[q.dtype.name]
    names = ("q", "k", "v") + ("mask",) * (bias is not None)
    words = (("is_causal", int(causal)), ("scale", scale), ("softcap", softcap))
    session = _session_of((("Attention", names, ("out",), "", words),), tuple((name, kind, 4) for name in names), (("out", kind),), 24)
    arrays = dict(zip(names, (q, k, v, bias)))
    return session.run(None, {name: numpy.ascontiguousarray(a) for name, a in arrays.items()})[0]


def multi_head_attention(q, k, v, scale, bias):
    """com.microsoft's, on arrays (batch, length, heads dim)."""
    kind = _TYPES[q.dtype.name]
    batch, heads, queries, _ = q.shape
    inputs = ("q", "k", "v") + ("", "", "bias") * (bias is not None)
    words = (("num_heads", heads), ("scale", scale))
    ranks = tuple((name, kind, 4 if name == "bias" else 3) for name in inputs if name)
    session = _session_of((("MultiHeadAttention", inputs, ("out",), "com.microsoft", words),), ranks, (("out", kind),), 23)
    arrays = dict(zip("qkv", map(_heads_inside, (q, k, v))), **({} if bias is None else {"bias": numpy.ascontiguousarray(bias)}))
    out = session.run(None, arrays)[0]
    return out.reshape(batch, queries, heads, v.shape[-1]).swapaxes(1, 2)


def _heads_inside(array):
    batch, heads, length, dim = array.shape
    return numpy.ascontiguousarray(array.swapaxes(1, 2)).reshape(batch, length, heads * dim)


def group_query_attention(q, k, v, scale, causal, window, softcap, sinks):
    """com.microsoft's, which is causal: a prompt, or one more token after past keys."""
    batch, heads, queries, dim = q.shape
    keys = k.shape[2]
    past = keys - queries
    if past < 0 or (past > 0 and queries > 1 and batch > 1) or (queries > 1 and not causal) or (window[1] >= 0 and not causal):
        raise ValueError("not what the operator computes")
    kind = _TYPES[q.dtype.name]
    inputs = ("q", "k", "v", "past_k", "past_v", "last", "total") + ("",) * 4 * (sinks is not None) + ("sinks",) * (sinks is not None)
    words = (("num_heads", heads), ("kv_num_heads", k.shape[1]), ("scale", scale), ("softcap", softcap),
             ("local_window_size", window[0] + 1 if window[0] >= 0 else -1))  # fmt: skip
    ranks = {"q": 3, "k": 3, "v": 3, "past_k": 4, "past_v": 4, "last": 1, "total": 1, "sinks": 1}
    types = {"last": TensorProto.INT32, "total": TensorProto.INT32}
    session = _session_of(
        (("GroupQueryAttention", inputs, ("out", "present_k", "present_v"), "com.microsoft", words),),
        tuple((name, types.get(name, kind), ranks[name]) for name in inputs if name),
        (("out", kind), ("present_k", kind), ("present_v", kind)),
        23,
    )
    arrays = dict(zip("qkv", map(_heads_inside, (q, k[:, :, past:], v[:, :, past:]))))
    arrays |= {"past_k": numpy.ascontiguousarray(k[:, :, :past]), "past_v": numpy.ascontiguousarray(v[:, :, :past])}
    arrays |= {"last": numpy.full(batch, keys - 1, numpy.int32), "total": numpy.array([keys], numpy.int32)}
    if sinks is not None:
        arrays["sinks"] = numpy.ascontiguousarray(sinks)
    out = session.run(["out"], arrays)[0]
    return out.reshape(batch, queries, heads, dim).swapaxes(1, 2)


def _new_kernels():
    contrib = "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft."
    lengths = "finite nomask batch>=1 heads>=1 keys>=1 queries>=1 dim>=1 values>=1"
    errors = onnxruntime.capi.onnxruntime_pybind11_state
    refused = (ValueError, errors.InvalidArgument, errors.Fail)
    dtypes = ("float64", "float32", "float16")
    return [
        *kernels_of("SoftmaxCrossEntropyLoss 13", "cross_entropy", cross_entropy, _DOCS + "SoftmaxCrossEntropyLoss.html", dtypes, arguments={"domain": "n>=1 rows>=1"}),
        *kernels_of("TopK 11 of Softmax 13", "topk_softmax", topk_of_softmax, _DOCS + "TopK.html", dtypes, arguments={"domain": "n>=1 rows>=1"}, notes="of the softmax in float32 at least"),
        *kernels_of("Attention 24", "attention", attention_with_attributes, _DOCS + "Attention.html", ("float32", "float16"), arguments={"domain": lengths + " causal=top-left softcap bias", "refuses": refused}, notes="is_causal stands at the upper left; a scale that is not positive is refused", exempt=("kernel.masked_row", "kernel.accepts")),
        *kernels_of("com.microsoft.MultiHeadAttention", "attention", multi_head_attention, contrib + "MultiHeadAttention", ("float32",), arguments={"domain": lengths + " nocausal bias group<=1", "refuses": refused}, exempt=("kernel.masked_row",)),
        *(
            kernel
            for name, domain in (("a token", "queries=1"), ("a prompt", "batch=1 queries=17 keys>=17"))
            for kernel in kernels_of(
                f"com.microsoft.GroupQueryAttention, {name}",
                "attention",
                group_query_attention,
                contrib + "GroupQueryAttention",
                ("float32", "float16"),
                arguments={"domain": f"{lengths} {domain} dim=16 values=16 window softcap sinks", "refuses": refused},
                exempt=("kernel.masked_row", "kernel.accepts"),
                notes="causal; keys before the queries are past; local_window_size is the window's left keys and the query's own",
            )
        ),
    ]


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
            *_new_kernels(),
        ],
    )

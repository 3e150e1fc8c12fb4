"""OpenVINO on the CPU, one thread, by default at its default inference precision, which depends on the machine. Each
kernel and dtype has a model of one node."""

import functools

import numpy
import openvino
import openvino.opset13 as ops

from ..kernel import Library, kernels_of

_DOCS = "https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/"
_TYPES = {
    "float64": openvino.Type.f64,
    "float32": openvino.Type.f32,
    "float16": openvino.Type.f16,
    "bfloat16": openvino.Type.bf16,
}
_CORE = openvino.Core()


@functools.lru_cache(None)
def _request(op, dtype, ranks, hint):
    inputs = [ops.parameter([-1] * rank, _TYPES[dtype]) for rank in ranks]
    node = {
        "softmax": lambda x: ops.softmax(x, 1),
        "log_softmax": lambda x: ops.log_softmax(x, 1),
        "attention": lambda q, k, v: ops.scaled_dot_product_attention(q, k, v),
    }[op](*inputs)
    compiled = _CORE.compile_model(openvino.Model([node], inputs), "CPU", {"INFERENCE_NUM_THREADS": 1, **dict(hint)})
    return compiled.create_infer_request()


def _run(op, *arrays, hint=()):
    name = arrays[0].dtype.name
    request = _request(op, name, tuple(a.ndim for a in arrays), hint)
    for i, array in enumerate(arrays):
        array = numpy.ascontiguousarray(array)
        bits = array.view(numpy.uint16) if name == "bfloat16" else array
        request.set_input_tensor(i, openvino.Tensor(bits, list(array.shape), _TYPES[name]))
    request.infer()
    data = request.get_output_tensor(0).data
    return data.view(arrays[0].dtype).copy()


def softmax(x):
    return _run("softmax", x)


def log_softmax(x):
    return _run("log_softmax", x)


def attention(q, k, v):
    return _run("attention", q, k, v)


def attention_f32(q, k, v):
    return _run("attention", q, k, v, hint=(("INFERENCE_PRECISION_HINT", "f32"),))


def library() -> Library:
    rows = dict(arguments={"domain": "n>=1 rows>=1"})
    return Library(
        "openvino",
        openvino.__version__.split("-")[0],
        [
            *kernels_of("Softmax 8", "softmax", softmax, _DOCS + "activation/softmax-8.html", **rows),
            *kernels_of("LogSoftmax 5", "log_softmax", log_softmax, _DOCS + "activation/log-soft-max-5.html", **rows),
            *(
                kernel
                for name, function, dtypes in (
                    ("ScaledDotProductAttention 13", attention, ("float64", "float32", "float16", "bfloat16")),
                    ("ScaledDotProductAttention 13, hint f32", attention_f32, ("float32", "float16")),
                )
                for kernel in kernels_of(
                    name,
                    "attention",
                    function,
                    _DOCS + "sequence/scaled-dot-product-attention.html",
                    dtypes,
                    arguments={"domain": "finite batch>=1 heads>=1 keys>=1 queries>=1 dim>=1 values>=1 group<=1"},
                    notes="without masks",
                    exempt=("kernel.masked_row",),
                )
            ),
        ],
    )

"""LiteRT on the CPU, one thread: its own kernels, and those of XNNPACK, which runs a graph by default. A model of
one node."""

import functools
import importlib.metadata

import flatbuffers
import numpy
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from ..kernel import Library, kernels_of

_DOCS = "https://ai.google.dev/edge/litert/"
_OWN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
_REFERENCE = OpResolverType.BUILTIN_REF
_XNNPACK = OpResolverType.AUTO


def _tensor(name, dtype):
    tensor = schema.TensorT()
    tensor.name, tensor.type, tensor.buffer = name, getattr(schema.TensorType, dtype.upper()), 0
    tensor.shape, tensor.shapeSignature = [1, 1], [-1, -1]
    return tensor


def _model(op, dtype):
    """A flatbuffer of the operator: x of any (rows, n), and y."""
    operator, code, graph, model = schema.OperatorT(), schema.OperatorCodeT(), schema.SubGraphT(), schema.ModelT()
    code.builtinCode = getattr(schema.BuiltinOperator, op)
    code.deprecatedBuiltinCode, code.version = code.builtinCode, 1
    operator.opcodeIndex, operator.inputs, operator.outputs = 0, [0], [1]
    if op == "SOFTMAX":
        operator.builtinOptionsType = schema.BuiltinOptions.SoftmaxOptions
        operator.builtinOptions = schema.SoftmaxOptionsT()
        operator.builtinOptions.beta = 1.0
    else:
        operator.builtinOptionsType = schema.BuiltinOptions.LogSoftmaxOptions
        operator.builtinOptions = schema.LogSoftmaxOptionsT()
    graph.tensors, graph.operators, graph.inputs, graph.outputs = [_tensor("x", dtype), _tensor("y", dtype)], [operator], [0], [1]
    model.version, model.operatorCodes, model.subgraphs, model.buffers = 3, [code], [graph], [schema.BufferT()]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


@functools.lru_cache(None)
def _interpreter(op, dtype, kernels):
    return Interpreter(model_content=_model(op, dtype), num_threads=1, experimental_op_resolver_type=kernels)


def _run(op, kernels, x):
    interpreter = _interpreter(op, x.dtype.name, kernels)
    interpreter.resize_tensor_input(0, x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, numpy.ascontiguousarray(x))
    interpreter.invoke()
    return interpreter.get_tensor(1)


def library() -> Library:
    names = {"SOFTMAX": "softmax", "LOG_SOFTMAX": "log_softmax"}
    return Library(
        "ai_edge_litert",
        importlib.metadata.version("ai-edge-litert"),
        [
            kernel
            for op, label, own, dtypes in (
                ("SOFTMAX", "", _OWN, ("float32", "float16")),
                ("SOFTMAX", ", reference", _REFERENCE, ("float32", "float16")),
                ("SOFTMAX", ", XNNPACK", _XNNPACK, ("float32", "float16")),
                ("LOG_SOFTMAX", "", _OWN, ("float32",)),  # XNNPACK has none
                ("LOG_SOFTMAX", ", reference", _REFERENCE, ("float32",)),
            )
            for kernel in kernels_of(
                op + label, names[op], functools.partial(_run, op, own), _DOCS, dtypes, arguments={"domain": "n>=1 rows>=1"}
            )
        ],
    )

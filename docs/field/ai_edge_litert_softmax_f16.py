"""ai_edge_litert 2.3.0: SOFTMAX in float16 by XNNPACK, the default, counts exponentials below 2^-14 as 0, in the sum, too; its own kernel does not.

class: within a weaker contract
kernels: SOFTMAX, XNNPACK float16
"""

import sys

import flatbuffers
import mpmath
import numpy
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType


def tensor(name):
    made = schema.TensorT()
    made.name, made.type, made.shape = name, schema.TensorType.FLOAT16, [1, 2]
    return made


operator, code, graph, model = schema.OperatorT(), schema.OperatorCodeT(), schema.SubGraphT(), schema.ModelT()
code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.SOFTMAX
operator.inputs, operator.outputs, operator.builtinOptionsType = [0], [1], schema.BuiltinOptions.SoftmaxOptions
operator.builtinOptions = schema.SoftmaxOptionsT()
operator.builtinOptions.beta = 1.0
graph.tensors, graph.operators, graph.inputs, graph.outputs = [tensor("x"), tensor("y")], [operator], [0], [1]
model.version, model.operatorCodes, model.subgraphs, model.buffers = 3, [code], [graph], [schema.BufferT()]
builder = flatbuffers.Builder(0)
builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
mpmath.mp.prec = 200


def run(row, kernels):
    interpreter = Interpreter(model_content=bytes(builder.Output()), num_threads=1, experimental_op_resolver_type=kernels)
    interpreter.resize_tensor_input(0, [1, len(row)])
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, numpy.array([row], numpy.float16))
    interpreter.invoke()
    return [float(y) for y in interpreter.get_tensor(1)[0]]


there = []
for text, row, item in (("[0] + 60000 * [-11]", [0] + 60000 * [-11], 0), ("[0, -11]", [0, -11], 1), ("[0, -0.5]", [0, -0.5], 1)):
    got, own = run(row, OpResolverType.AUTO)[item], run(row, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)[item]
    exact = mpmath.exp(row[item]) / sum(mpmath.exp(x) for x in row)
    there.append(got != own)
    print(f"SOFTMAX({text})[{item}], float16 | {got} (LiteRT's own kernel: {own}) | {mpmath.nstr(exact, 8)}")
sys.exit(0 if all(there) else "not there")

"""openvino 2026.4.1: LogSoftmax in bfloat16 rounds x - max to bfloat16 before its exponential.

class: within a weaker contract
kernels: LogSoftmax 5 bfloat16
"""
import sys, mpmath, numpy, openvino, openvino.opset13 as ops

x = ops.parameter([-1, -1], openvino.Type.bf16)
request = openvino.Core().compile_model(openvino.Model([ops.log_softmax(x, 1)], [x]), "CPU").create_infer_request()
row = numpy.array([[-4.0, 0.234375]], numpy.float32)  # both are bfloat16 numbers: the upper halves of float32 ones
request.set_input_tensor(openvino.Tensor((row.view(numpy.uint32) >> 16).astype(numpy.uint16), [1, 2], openvino.Type.bf16))
request.infer()
got = (request.get_output_tensor().data.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)[0, 1]
exact = -mpmath.log(1 + mpmath.exp(mpmath.mpf("-4.234375")))
print(f"LogSoftmax([-4, 0.234375])[1], bfloat16 | {got} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if abs(got - exact) > 1e-4 else f"not there in openvino {openvino.__version__}, on this machine")

"""The kernels' ABI and CUDA's driver, for Python's ctypes."""
import ctypes
import sys


# --- kernels/abi/softcheck_kernel.h and dlpack.h, for ctypes
class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Call(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_uint32), ("n_inputs", ctypes.c_uint32), ("n_outputs", ctypes.c_uint32),
                ("inputs", ctypes.POINTER(ctypes.POINTER(DLTensor))), ("outputs", ctypes.POINTER(ctypes.POINTER(DLTensor))),
                ("theta", ctypes.c_double), ("scale", ctypes.c_double), ("causal", ctypes.c_int32), ("stream", ctypes.c_void_p)]


class Attributes(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("reserved", ctypes.c_int32), ("window_left_plus_1", ctypes.c_int64),
                ("window_right_plus_1", ctypes.c_int64), ("softcap", ctypes.c_double), ("label_smoothing", ctypes.c_double),
                ("z_loss", ctypes.c_double), ("top_p", ctypes.c_double), ("min_p", ctypes.c_double), ("words", ctypes.c_int32 * 6),
                ("ignore_index", ctypes.c_int64), ("page_size", ctypes.c_int64), ("dropout_scale", ctypes.c_double),
                ("sigmoid_bias", ctypes.c_double), ("more_words", ctypes.c_int32 * 6), ("routed_scale", ctypes.c_double)]


class Call2(ctypes.Structure):
    _fields_ = [("call", Call), ("op", ctypes.c_uint32), ("input_roles", ctypes.POINTER(ctypes.c_uint32)),
                ("attributes", ctypes.POINTER(Attributes))]


IGNORED = -100
# softcheck_role of an input, by its name here.
ROLES = {"logits": 0, "g": 7, "y": 9, "labels": 10, "upstream": 12}
# Of the ops of version 2 of a call: softcheck_op, and the inputs.
VERSION_2 = {"softmax_backward": (8, ("y", "g")), "log_softmax_backward": (9, ("y", "g")),
             "cross_entropy": (10, ("logits", "labels")), "cross_entropy_backward": (11, ("logits", "labels", "upstream"))}


def takes(function, op, inputs, outputs, smoothing=0.0, **members):
    """Whether a kernel computes op. inputs, outputs: DLTensors; members: of the softcheck_call."""
    pointers = [(ctypes.POINTER(DLTensor) * len(views))(*map(ctypes.pointer, views)) for views in (inputs, outputs)]
    call = Call(**{"abi_version": 1, "theta": 1.0, "scale": 1.0, **members}, n_inputs=len(inputs), n_outputs=len(outputs),
                inputs=pointers[0], outputs=pointers[1])
    if op in VERSION_2:
        number, names = VERSION_2[op]
        call.abi_version = 2
        attributes = Attributes(size=ctypes.sizeof(Attributes), label_smoothing=smoothing, z_loss=smoothing / 64, ignore_index=IGNORED)
        roles = (ctypes.c_uint32 * len(names))(*(ROLES[name] for name in names))
        call = Call2(call, number, roles, ctypes.pointer(attributes))
    return function(ctypes.byref(call)) == 0


class Driver:
    """CUDA's driver, on the context that the kernels use."""

    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError:
            self.absent("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if self.cuda.cuInit(0) or self.cuda.cuDeviceGet(ctypes.byref(device), 0):
            self.absent("a device")
        self.device = device
        self.ask("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.ask("cuCtxSetCurrent", context)

    @staticmethod
    def absent(what):
        print(f"gpu: need an NVIDIA GPU and its driver, found none ({what}); --dry-run needs neither", file=sys.stderr)
        sys.exit(4)

    def ask(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: CUDA error {status}")

    def attribute(self, number):
        value = ctypes.c_int()
        self.ask("cuDeviceGetAttribute", ctypes.byref(value), number, self.device)
        return value.value

    def facts(self):
        name = ctypes.create_string_buffer(100)
        self.ask("cuDeviceGetName", name, 100, self.device)
        return {"device": name.value.decode(), "capability": 10 * self.attribute(75) + self.attribute(76),
                "multiprocessors": self.attribute(16), "memory_clock": self.attribute(36)}  # kHz: an H200's memory is faster

    def synchronize(self):
        self.ask("cuCtxSynchronize")

    def memory(self, size):
        pointer = ctypes.c_uint64()
        self.ask("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def upload(self, to, source):
        self.ask("cuMemcpyHtoD_v2", to, source, ctypes.c_size_t(len(source)))

    def copy(self, to, source, size):
        self.ask("cuMemcpyDtoDAsync_v2", to, source, ctypes.c_size_t(size), None)

    def seconds(self, work, before=lambda: None):
        """Of what work() queues; before() keeps the device busy while the host queues it."""
        begin, end, took = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
        for event in (begin, end):
            self.ask("cuEventCreate", ctypes.byref(event), 0)
        before()
        self.ask("cuEventRecord", begin, None)
        work()
        self.ask("cuEventRecord", end, None)
        self.ask("cuEventSynchronize", end)
        self.ask("cuEventElapsedTime", ctypes.byref(took), begin, end)
        for event in (begin, end):
            self.ask("cuEventDestroy_v2", event)
        return took.value * 1e-3

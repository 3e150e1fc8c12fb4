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

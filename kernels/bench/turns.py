"""What the comparisons with torch share: calls of exported kernels, and timing in turns, so that other load on the machine
affects all of them alike."""

import ctypes
import sys

from softcheck._abi import Attributes, Call, Call2, DLDataType, DLDevice, DLTensor

FLOAT, BFLOAT, INT = 2, 4, 0  # DLPack's codes


def tensor_of(array, code=FLOAT):
    """The DLTensor of a compact CPU tensor of torch, which must outlive it."""
    shape = (ctypes.c_int64 * array.dim())(*array.shape)
    return DLTensor(array.data_ptr(), DLDevice(1, 0), array.dim(), DLDataType(code, array.element_size() * 8, 1), shape, None, 0)


class Kernel:
    """One call of an exported kernel on DLTensors, made once and repeated. With roles, of version 2."""

    def __init__(self, library, name, inputs, outputs, scale=1.0, causal=False, op=0, roles=(), **attributes):
        self.kernel, self.name = getattr(library, name), name
        pointers = [(ctypes.POINTER(DLTensor) * len(tensors))(*map(ctypes.pointer, tensors)) for tensors in (inputs, outputs)]
        self.call = Call(2 if roles else 1, len(inputs), len(outputs), *pointers, 1.0, scale, int(causal), None)
        roles, attributes = (ctypes.c_uint32 * len(roles))(*roles), Attributes(size=ctypes.sizeof(Attributes), **attributes)
        self.kept = [inputs, outputs, pointers, roles, attributes]
        if roles:
            self.call = Call2(self.call, op, roles, ctypes.pointer(attributes))

    def is_taken(self):
        return self.kernel(ctypes.byref(self.call)) == 0

    def __call__(self):
        if not self.is_taken():
            stop(f"{self.name} refused the call")


def stop(message):
    raise SystemExit(f"{sys.argv[0].rsplit('/', 1)[-1]}: {message}")


def torch_and(path):
    """torch on one thread, and the library of kernels."""
    try:
        import torch
    except ImportError:
        stop("needs torch, which this Python does not have")
    torch.set_num_threads(1)
    try:
        return torch, ctypes.CDLL(path)
    except OSError as error:
        stop(error)


def least_seconds(works, rounds, clock):
    """The least processor time of each work. The works take turns; one extra round warms the caches."""
    best = [float("inf")] * len(works)
    for r in range(rounds + 1):
        for i, work in enumerate(works):
            start = clock()
            work()
            if r > 0:
                best[i] = min(best[i], clock() - start)
    return best

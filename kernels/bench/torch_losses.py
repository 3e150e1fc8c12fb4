"""torch_losses.py LIBRARY [--quick]: cross-entropy with its gradient, ours against torch's eager pair, one thread, f32.

LIBRARY is libsoftcheck_cpu_kernels.so. Both take the mean loss of the rows and its gradient by the logits: torch by
F.cross_entropy and backward(), ours by softcheck_cross_entropy_mean and softcheck_cross_entropy_mean_backward. They
take turns in one process; each figure is the least processor time of the rounds. Printed: torch's time over ours.
Needs torch (Debian: python3-torch; PyPI: torch) and the package softcheck
(PYTHONPATH=python SOFTCHECK_LIBRARY=build/release/libsoftcheck.so in a checkout), which has the call's structures.
"""

import ctypes
import sys
import time

from turns import least_seconds

from softcheck._abi import Attributes, Call, Call2, DLDataType, DLDevice, DLTensor

ROLE_LOGITS, ROLE_LABELS, ROLE_UPSTREAM = 0, 10, 12
OP_MEAN, OP_MEAN_BACKWARD = 18, 19
FLOAT, INT = 2, 0  # DLPack's codes


def tensor_of(array, code):
    """The DLTensor of a compact CPU tensor of torch, which must outlive it."""
    shape = (ctypes.c_int64 * array.dim())(*array.shape)
    return DLTensor(array.data_ptr(), DLDevice(1, 0), array.dim(), DLDataType(code, array.element_size() * 8, 1), shape, None, 0)


class Kernel:
    """One call of an exported kernel, made once and repeated."""

    def __init__(self, library, name, op, inputs, roles, output):
        self.kernel = getattr(library, name)
        self.name = name
        self.tensors = [*inputs, output]
        self.inputs = (ctypes.POINTER(DLTensor) * len(inputs))(*map(ctypes.pointer, inputs))
        self.outputs = (ctypes.POINTER(DLTensor) * 1)(ctypes.pointer(output))
        self.roles = (ctypes.c_uint32 * len(roles))(*roles)
        self.attributes = Attributes(size=ctypes.sizeof(Attributes), mean=1, ignore_index=-100)
        call = Call(2, len(inputs), 1, self.inputs, self.outputs, 1.0, 1.0, 0, None)
        self.call = Call2(call, op, self.roles, ctypes.pointer(self.attributes))

    def __call__(self):
        if self.kernel(ctypes.byref(self.call)) != 0:
            raise SystemExit(f"torch_losses.py: {self.name} refused the call")


def compare(torch, library, rows, classes, rounds):
    """Prints a line: torch's seconds over ours for one shape, and how far apart the results are."""
    logits = torch.randn(rows, classes, generator=torch.Generator().manual_seed(1)) * 4
    labels = torch.randint(0, classes, (rows,), generator=torch.Generator().manual_seed(2))
    own_loss, own_gradient, upstream = torch.zeros(1), torch.zeros(rows, classes), torch.ones(1)
    x, y = tensor_of(logits, FLOAT), tensor_of(labels, INT)
    forward = Kernel(library, "softcheck_cross_entropy_mean", OP_MEAN, [x, y], [ROLE_LOGITS, ROLE_LABELS], tensor_of(own_loss, FLOAT))
    backward = Kernel(
        library, "softcheck_cross_entropy_mean_backward", OP_MEAN_BACKWARD, [x, y, tensor_of(upstream, FLOAT)],
        [ROLE_LOGITS, ROLE_LABELS, ROLE_UPSTREAM], tensor_of(own_gradient, FLOAT))
    leaf = logits.clone().requires_grad_()
    theirs = {}

    def eager():
        leaf.grad = None
        loss = torch.nn.functional.cross_entropy(leaf, labels)
        loss.backward()
        theirs["loss"] = float(loss.detach())

    def ours():
        forward()
        backward()

    own, eager_pair = least_seconds([ours, eager], rounds, time.process_time)
    apart = abs(float(own_loss) - theirs["loss"]), float((own_gradient - leaf.grad).abs().max())
    print(f"{rows:6} x {classes:6}  ours {1e3 * own:8.1f} ms  torch {1e3 * eager_pair:8.1f} ms  torch / ours {eager_pair / own:5.2f}"
          f"  apart: loss {apart[0]:.1e}, gradient {apart[1]:.1e}")


def main(arguments):
    quick = "--quick" in arguments
    arguments = [argument for argument in arguments if argument != "--quick"]
    if len(arguments) != 1:
        raise SystemExit("torch_losses.py: need the path of libsoftcheck_cpu_kernels.so, and --quick for small shapes once")
    try:
        import torch
    except ImportError:
        raise SystemExit("torch_losses.py: needs torch, which this Python does not have")
    try:
        library = ctypes.CDLL(arguments[0])
    except OSError as error:
        raise SystemExit(f"torch_losses.py: {error}")
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread, f32: mean loss and its gradient by the logits")
    for rows, classes in ((4, 257),) if quick else ((512, 32000), (128, 128256), (4096, 1024)):
        compare(torch, library, rows, classes, rounds=1 if quick else 10)


if __name__ == "__main__":
    main(sys.argv[1:])

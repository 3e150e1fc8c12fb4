"""Liger Kernel: Triton's kernels in Triton's interpreter, on the CPU, or compiled for device 0 with
TRITON_INTERPRET=0. The interpreter computes in NumPy: it shows neither the errors of a GPU's exp2 and tanh nor races.
It truncates float32 to bfloat16: that dtype is judged only on a device."""

import importlib.metadata
import os

os.environ.setdefault("TRITON_INTERPRET", "1")
import torch  # noqa: E402: the environment comes first
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction  # noqa: E402
from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction  # noqa: E402
from liger_kernel.ops.softmax import LigerSoftmaxFunction, _softmax_backward  # noqa: E402
from liger_kernel.ops.utils import calculate_settings  # noqa: E402

from ..kernel import Library, kernels_of  # noqa: E402

_ON_A_DEVICE = os.environ["TRITON_INTERPRET"] == "0"
_DOCS = "https://linkedin.github.io/Liger-Kernel/Low-Level-APIs/"
_FEW = "n=1|3|17|64|1000|4097 rows=1|3"  # the interpreter takes milliseconds a row
_FEW_CLASSES = "queries=1|3|17 keys=1|3|64|1000 dim=16|64|100"
_FEWER_CLASSES = "queries=1|3 keys=1|3|64 dim=16"  # its gradient computes the losses again


def _cross_entropy(logits, labels, label_smoothing, z_loss, ignore_index):
    words = (None, ignore_index, z_loss, label_smoothing, "none", None, False, False, False)
    return LigerCrossEntropyFunction.apply(logits, labels.long(), *words)[0]


def cross_entropy(logits, labels, label_smoothing, z_loss, ignore_index):
    return _cross_entropy(logits.clone(), labels, label_smoothing, z_loss, ignore_index)


def cross_entropy_backward(logits, labels, upstream, label_smoothing, z_loss, ignore_index):
    """The forward pass writes the gradient over its logits."""
    with torch.enable_grad():
        leaf = logits.clone().requires_grad_()
        losses = _cross_entropy(leaf, labels, label_smoothing, z_loss, ignore_index)
        return torch.autograd.grad(losses, leaf, upstream)[0]


def linear_cross_entropy(hidden, weight, labels, ignore_index):
    words = (None, None, ignore_index, 0.0, 0.0, "none")
    return LigerFusedLinearCrossEntropyFunction.apply(hidden, weight, labels.long(), *words)[0]


def linear_cross_entropy_backward(hidden, weight, labels, upstream, ignore_index):
    with torch.enable_grad():
        leaves = [x.detach().clone().requires_grad_() for x in (hidden, weight)]
        losses = linear_cross_entropy(*leaves, labels, ignore_index)
        return torch.autograd.grad(losses, leaves, upstream.to(losses.dtype))


def softmax(x):
    return LigerSoftmaxFunction.apply(x)


def softmax_backward(y, g):
    return _softmax_backward(g, y, *calculate_settings(y.shape[-1]), False)


def library() -> Library:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    # Its sources: logits cast to float32, powers of two, the loss is the log-sum-exp less the logit.
    loss = dict(
        dtypes=("float32", "float16", "bfloat16") if _ON_A_DEVICE else ("float32", "float16"),
        arrays="torch",
        contract="acc=f32 exp=E:4,A:3 sum=sequential lse=uncentred",
        notes="the contract is read off its source" if _ON_A_DEVICE else "in Triton's interpreter; the contract is read off its source",
        arguments={"domain": _FEW, "time_limit": 60, "device": "cuda" if _ON_A_DEVICE else None},
    )
    # Arithmetic of 16 bits that is not cast to float32 first is the interpreter's own.
    rows = {**loss, "dtypes": loss["dtypes"] if _ON_A_DEVICE else ("float32",), "contract": "acc=f32 exp=E:4,A:3 sum=sequential"}
    # Logits, and their gradients, have the inputs' dtype.
    fused, name = [], "LigerFusedLinearCrossEntropyFunction"
    for dtype, word in (("float32", ""), ("float16", "f16"), ("bfloat16", "bf16")):
        if dtype in loss["dtypes"]:
            stored = [f" {key}={word}" if word else "" for key in ("scores", "ds")]
            few, fewer = ({**loss, "dtypes": (dtype,), "arguments": {**loss["arguments"], "domain": domain, "out_dtype": None}} for domain in (_FEW_CLASSES, _FEWER_CLASSES))
            few["contract"], fewer["contract"] = loss["contract"] + stored[0], loss["contract"] + "".join(stored)
            fused += kernels_of(name, "linear_cross_entropy", linear_cross_entropy, _DOCS, **few)
            fused += kernels_of(f"{name}, gradient", "linear_cross_entropy_backward", linear_cross_entropy_backward, _DOCS, **fewer)
    return Library(
        "liger_kernel",
        importlib.metadata.version("liger_kernel") + (f" on {torch.cuda.get_device_name()}" if _ON_A_DEVICE else ""),
        [
            *kernels_of("LigerSoftmaxFunction", "softmax", softmax, _DOCS, **rows),
            *kernels_of("LigerSoftmaxFunction, gradient", "softmax_backward", softmax_backward, _DOCS, **{**rows, "dtypes": ("float32",)}),
            *kernels_of("LigerSoftmaxFunction, gradient", "softmax_backward", softmax_backward, _DOCS, **{**rows, "dtypes": rows["dtypes"][1:], "contract": None}),
            *kernels_of("LigerCrossEntropyFunction", "cross_entropy", cross_entropy, _DOCS, **loss),
            *kernels_of("LigerCrossEntropyFunction, gradient", "cross_entropy_backward", cross_entropy_backward, _DOCS, **loss),
            *fused,
        ],
        isolation="none" if _ON_A_DEVICE else "fork",
    )

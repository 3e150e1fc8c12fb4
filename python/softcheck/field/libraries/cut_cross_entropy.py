"""Apple's cut cross-entropy by its torch operations, not compiled: impl="torch_compile", macOS's only one. Its Triton
kernels call CUDA's log1p, which Triton's interpreter lacks."""

import importlib.metadata

import torch
from cut_cross_entropy import linear_cross_entropy

from ..kernel import Library, kernels_of

_DOCS = "https://github.com/apple/ml-cross-entropy"


def losses(hidden, weight, labels, ignore_index):
    return linear_cross_entropy(hidden, weight, labels.long(), ignore_index=ignore_index, reduction="none", impl="torch_compile")


def gradients(hidden, weight, labels, upstream, ignore_index):
    with torch.enable_grad():
        leaves = [x.detach().clone().requires_grad_() for x in (hidden, weight)]
        result = losses(*leaves, labels, ignore_index)
        return torch.autograd.grad(result, leaves, upstream.to(result.dtype))


def library() -> Library:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.compiler.set_stance("force_eager")  # else it is compiled for each shape
    # Its source: logits in the inputs' dtype, and so are their gradients; the loss in float32.
    words = dict(arrays="torch", notes="not compiled; the contract is read off its source", arguments={"domain": "keys>=1", "out_dtype": None})
    kernels = []
    for dtype, word in (("float32", None), ("float16", "f16"), ("bfloat16", "bf16")):
        scores, slopes = ("", "") if word is None else (f" scores={word}", f" ds={word}")
        contract = f"acc=f32 exp=4ulp sum=sequential{scores}"
        kernels += [
            *kernels_of('linear_cross_entropy(impl="torch_compile")', "linear_cross_entropy", losses, _DOCS, (dtype,), contract=contract, **words),
            *kernels_of('linear_cross_entropy(impl="torch_compile"), gradient', "linear_cross_entropy_backward", gradients, _DOCS, (dtype,), contract=contract + slopes, **words),
        ]
    return Library("cut_cross_entropy", importlib.metadata.version("cut_cross_entropy"), kernels, isolation="fork")

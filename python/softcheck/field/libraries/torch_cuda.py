"""PyTorch on device 0: its eager kernels, attention's four backends, and a few functions that torch.compile (Inductor,
Triton) compiles."""

import dataclasses
import functools
import warnings

import torch
from torch.nn.attention import SDPBackend
from torch.nn.attention.flex_attention import flex_attention

from ..kernel import Library, kernels_of
from . import torch as eager

_COMPILE = "https://docs.pytorch.org/docs/stable/generated/torch.compile.html"
_BACKENDS = ("MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION")
_HALVES = ("float16", "bfloat16")
# The messages by which a backend refuses a call; other errors are crashes, also those of the device.
_REFUSALS = ("No available kernel", "No viable backend", "cuDNN Frontend error", "No execution plans")


def attention_gradient(backend, q, k, v, out, lse, out_gradient, scale):
    """The gradient from the values that torch's forward pass saves."""
    return eager.attention_gradient(backend, q, k, v, out_gradient, None, scale, False)


def _by(backend, function, every_scale=True):
    """The function with that backend. It refuses calls that the backend does not support."""
    called = functools.partial(function, backend)

    @functools.wraps(called)
    def refusing(*arguments, scale, **keywords):
        if not every_scale and scale <= 0:
            raise NotImplementedError("the kernel with every scale shows it")
        try:
            return called(*arguments, scale=scale, **keywords)
        except RuntimeError as error:
            if any(words in str(error) for words in _REFUSALS):
                raise NotImplementedError(str(error)) from None
            raise

    return refusing


def _attentions():
    kernels = []
    for name in _BACKENDS:
        backend, short = getattr(SDPBackend, name), name.split("_")[0]
        dtypes = {"FLASH": _HALVES, "CUDNN": _HALVES, "EFFICIENT": ("float32", *_HALVES)}.get(short, ("float64", "float32", *_HALVES))
        common = dict(arrays="torch", exempt=("kernel.accepts", "kernel.masked_row"))
        # The fused kernels take rows of whole 16 bytes.
        whole = "" if short == "MATH" else " dim=8|64|128 values=8|64|128"
        seen = {"refuses": (NotImplementedError,), "domain": "finite" + whole}
        unmasked = {**seen, "domain": "finite nomask causal=top-left" + whole}
        bias = {**seen, "domain": "finite nomask nocausal bias" + whole}
        what = "scaled_dot_product_attention"
        # is_causal aligns the first query with the first key. Models call it so, as a mask would exclude the fused kernels.
        if short != "FLASH":  # which takes no attn_mask on CUDA
            kernels += kernels_of(f"{what}, {short}", "attention", _by(backend, eager.attention_by), eager.ATTENTION, dtypes, arguments=seen, **common)
            kernels += kernels_of(f"{what}(attn_mask=bias), {short}", "attention", _by(backend, eager.attention_bias), eager.ATTENTION, dtypes, arguments=bias, **common)
        kernels += kernels_of(f"{what}(is_causal=True), {short}", "attention", _by(backend, eager.attention_top_left), eager.ATTENTION, dtypes, arguments=unmasked, **common)
        if short != "MATH":
            kernels += kernels_of(f"{what}(is_causal=True), {short}, scale > 0", "attention", _by(backend, eager.attention_top_left, every_scale=False), eager.ATTENTION, dtypes, arguments=unmasked, **common)
        for dtype in dtypes:
            stored = {"float16": " weights=f16 ds=f16", "bfloat16": " weights=bf16 ds=bf16"}.get(dtype, "")
            contract = f"exp=4ulp sum=sequential scale=split masked=zero subnormal=flushed{stored}"
            gradient = {**seen, "domain": "finite nomask nocausal dim=64 values=64 heads=4 group=1"}
            kernels += kernels_of(f"{what}, gradient, {short}, scale > 0", "attention_backward", _by(backend, attention_gradient, every_scale=False), eager.ATTENTION, [dtype], arguments=gradient, contract=contract, **common)
    return kernels


def _compiled():
    """Each function compiled with dynamic=True, so that a few compilations serve all lengths."""
    rows = dict(arrays="torch", notes="torch.compile(dynamic=True)", arguments={"domain": "n>=2 rows>=2", "time_limit": 120})
    kernels = []
    for op, function in (("softmax", eager.softmax), ("log_softmax", eager.log_softmax), ("logsumexp", eager.logsumexp)):
        kernels += kernels_of(f"torch.compile({op})", op, torch.compile(function, dynamic=True), _COMPILE, ("float32", *_HALVES), **rows)

    @torch.compile(dynamic=True)
    def flex(q, k, v, scale):
        return flex_attention(q, k, v, scale=scale, enable_gqa=q.shape[1] != k.shape[1])

    shapes = {"domain": "finite nomask nocausal batch=2 heads=4 group=2 dim=64 values=64 queries>=2 keys>=2", "time_limit": 120}
    kernels += kernels_of("torch.compile(flex_attention)", "attention", flex, eager.DOCS + "nn.attention.flex_attention.html", ("float32", *_HALVES),
                          arrays="torch", notes="torch.compile(dynamic=True)", exempt=("kernel.accepts", "kernel.masked_row"), arguments=shapes)  # fmt: skip
    return kernels


def kernels(device):
    """All kernels, called with tensors of the device."""
    every = [*eager.rows(), *eager.gradients_and_losses(), *_attentions(), *_compiled()]
    return [dataclasses.replace(kernel, arguments={**kernel.arguments, "device": device}) for kernel in every]


def library() -> Library:
    if not torch.cuda.is_available():
        raise RuntimeError(f"it needs a CUDA device, torch {torch.__version__} sees none")
    torch.set_grad_enabled(False)
    warnings.simplefilter("ignore")  # the reasons why a backend refuses a call
    torch._dynamo.config.recompile_limit = 64  # beyond it an uncompiled function would be judged
    return Library("torch_cuda", f"{torch.__version__} on {torch.cuda.get_device_name()}", kernels("cuda"))

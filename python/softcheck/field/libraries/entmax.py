"""entmax on the CPU, one thread."""

import importlib.metadata

import entmax
import torch

from ..kernel import Library, kernels_of


def sparsemax(x):
    return entmax.sparsemax(x, dim=-1)


def entmax15(x):
    return entmax.entmax15(x, dim=-1)


def _finite(op, function, docs):
    """In 16 bits all steps are of that format, and longer rows have no threshold."""
    for dtype, domain, contract in (("float32", "", None), ("float16", " n<=64", "acc=f16"), ("bfloat16", " n<=16", "acc=bf16")):
        arguments = {"domain": f"n>=1 rows>=1 finite{domain}"}
        yield from kernels_of(f"{op} of finite rows", op, function, docs, (dtype,), contract=contract, arrays="torch", arguments=arguments)


def library() -> Library:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    docs = "https://github.com/deep-spin/entmax"
    rows = dict(arrays="torch", dtypes=("float32",), arguments={"domain": "n>=1 rows>=1"}, notes="an empty row raises IndexError")
    return Library(
        "entmax",
        importlib.metadata.version("entmax"),
        [
            *kernels_of("sparsemax", "sparsemax", sparsemax, docs, **rows),
            *kernels_of("entmax15", "entmax15", entmax15, docs, **rows),
            *_finite("sparsemax", sparsemax, docs),
            *_finite("entmax15", entmax15, docs),
        ],
        isolation="fork",
    )

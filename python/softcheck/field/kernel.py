"""A kernel of a library, in the form that the field report judges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Sequence

from .._ops import OPS

DTYPES = ("float64", "float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Kernel:
    """One kernel at one dtype.

    name       as a user calls it: "torch.softmax(dim=-1)"
    dtype      one of DTYPES
    function   of arrays of the library that `arrays` names (softcheck.check)
    link       the documentation that says what the kernel promises
    contract   the documentation's promise, as a contract's words; None: softcheck.infer finds it
    notes      conventions that the documentation states, for the report
    exempt     claims that those conventions settle: not judged
    arguments  of softcheck.check: domain, takes, out_dtype, ...
    """

    name: str
    op: str
    dtype: str
    function: Callable[..., Any]
    link: str
    contract: str | None = None
    arrays: str = "numpy"
    notes: str = ""
    exempt: Sequence[str] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)


def kernels_of(
    name: str, op: str, function: Callable[..., Any], link: str, dtypes: Sequence[str] = DTYPES, **rest: Any
) -> list[Kernel]:
    """The kernel in each dtype. Row values (logsumexp, entropy, losses) have the inputs' dtype here."""
    arguments = rest.pop("arguments", {})
    scalar = OPS[op].row_values
    return [
        Kernel(name, op, dtype, function, link, arguments={"out_dtype": dtype if scalar else None, **arguments}, **rest)
        for dtype in dtypes
    ]


@dataclass(frozen=True)
class Library:
    """A library and its kernels.

    name       of its module
    version    read from the module
    isolation  softcheck's: "none" for libraries with threads, which may not be forked. Each library is judged in its
               own process, so that its crash is still a verdict
    """

    name: str
    version: str
    kernels: Sequence[Kernel]
    isolation: str = "none"

"""The gradients of a forward function through torch.autograd."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ._library import UsageError
from ._ops import OPS, Op

WITH_FORWARD = tuple(name for name in OPS if name.endswith("_backward") and OPS[name].inputs[0] != "saved")
"""The gradient ops by the inputs of a forward op. The gradients of softmax and log_softmax are not among them: they are
functions of any saved output."""


def inputs_of_forward(op: Op) -> tuple[str, ...]:
    return OPS[op.name[: -len("_backward")]].inputs


def require_forward(op: Op, arrays: str) -> None:
    """Raises UsageError if the gradients of a forward function do not exist for this op or library."""
    if op.name not in WITH_FORWARD:
        raise UsageError(f"autograd: need one of the ops {', '.join(WITH_FORWARD)}, got {op.name}")
    if arrays != "torch":
        raise UsageError(f"autograd: need arrays of torch, dtype=torch.float32, got {arrays}")


def gradients(function: Callable[..., Any], names: Sequence[str], arrays: Sequence[Any], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """Gradients of the function's first result by its floating-point inputs. The last array is the loss's gradient by
    that result. A gradient is 0 if the result does not depend on the input."""
    import torch

    inputs = [array.detach().requires_grad_(array.is_floating_point()) for array in arrays[: len(names)]]
    result = function(*inputs, **keywords)
    result = result[0] if isinstance(result, tuple) else result
    by = [array for array in inputs if array.requires_grad]
    if not result.requires_grad:
        return tuple(map(torch.zeros_like, by))
    return torch.autograd.grad(result, by, arrays[-1].reshape(result.shape), materialize_grads=True)

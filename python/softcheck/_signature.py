"""Can a function be called as an op calls it?"""

from __future__ import annotations

import inspect

from ._function import Adapter
from ._library import UsageError


def require_callable_with(adapter: Adapter) -> None:
    """Raises UsageError if no call can reach the function, since its signature takes other arguments.

    A signature that cannot be read, as of builtins, is not checked: the calls will show errors.
    """
    names = list(adapter.called_with)
    keywords = [*adapter.takes.values(), *adapter.follow]
    try:
        # The function itself is called, not the function that it wraps.
        signature = inspect.signature(adapter.function, follow_wrapped=False)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names, **dict.fromkeys(keywords))
    except TypeError as error:
        passed = ", ".join([*names, *(f"{keyword}=" for keyword in keywords)])
        name = getattr(adapter.function, "__name__", type(adapter.function).__name__)
        raise UsageError(
            f"function: need one that {adapter.op.name} can call with ({passed}), got {name}{signature}: {error}"
        ) from None

"""@softcheck.kernel: marks functions of which the pytest plugin makes tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Collection, TypeVar

from ._library import UsageError, shown
from ._words import Dtype, KernelArguments, OpName

if TYPE_CHECKING:
    from typing_extensions import Unpack

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Mark:
    """One judgement of a function: the arguments of check()."""

    op: OpName
    dtype: Dtype
    arguments: dict[str, Any] = field(default_factory=dict)


def kernel(
    op: OpName = "softmax", dtypes: Dtype | Collection[Dtype] = "float32", **arguments: Unpack[KernelArguments]
) -> Callable[[Function], Function]:
    """Makes tests of a function: one for each dtype, in every test module or test class that contains the function.

    The function itself is unchanged. The other arguments are those of check(). pytest's --softcheck-effort,
    --softcheck-seed and --softcheck-budget hold for arguments that the decorator does not set.

        @softcheck.kernel(op="softmax", dtypes=["float32", "bfloat16"], contract="masked=zero")
        def my_softmax(x): ...

    pytest's marks hold, above or below it: xfail, skip, skipif and your own. parametrize sets parameters of the
    function that no call of the judge sets.
    """
    if callable(op):
        raise UsageError(f"op: need @softcheck.kernel(...) with parentheses, got {shown(op)} in place of an op")
    if "dtype" in arguments:  # as check() calls it
        dtypes = arguments.pop("dtype")
    several = dtypes if isinstance(dtypes, (list, tuple, set, frozenset)) else (dtypes,)
    marks = [Mark(op, dtype, dict(arguments)) for dtype in several]

    def mark(function: Function) -> Function:
        inner: Any = function.__func__ if isinstance(function, staticmethod) else function  # the class returns this one
        if not callable(inner):
            raise UsageError(f"function: need a function, got {shown(function)}")
        inner.__softcheck__ = [*getattr(inner, "__softcheck__", ()), *marks]
        return function

    return mark

"""The pytest plugin: functions under @softcheck.kernel become tests."""

from __future__ import annotations

import inspect
from typing import Any, Iterator, get_args

import pytest

from . import _arrays
from ._mark import Mark
from ._words import Effort


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("softcheck")
    group.addoption("--softcheck-effort", default="quick", choices=get_args(Effort),
                    help="how long each kernel is looked at (quick)")
    group.addoption("--softcheck-seed", type=int, default=None, help="seed of the random cases")
    group.addoption("--softcheck-budget", type=float, default=None, help="seconds for each kernel")


class KernelItem(pytest.Item):
    """One kernel at one dtype."""

    def __init__(self, *, function: Any, mark: Mark, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._function = function
        self._mark = mark

    def runtest(self) -> None:
        from ._check import check

        option = self.config.getoption
        arguments = {
            "effort": option("--softcheck-effort"),
            "seed": option("--softcheck-seed"),
            "budget": option("--softcheck-budget"),
            "progress": False,
            **self._mark.arguments,
        }
        check(self._function, self._mark.op, self._mark.dtype, **arguments).raise_for_verdict()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from ._library import UsageError
        from .report import Violation

        if isinstance(excinfo.value, Violation):
            return str(excinfo.value)  # its first line is the summary, which pytest repeats at its end
        if isinstance(excinfo.value, UsageError):
            return f"@softcheck.kernel of {self.name}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        code = getattr(self._function, "__code__", None)
        return self.path, None if code is None else code.co_firstlineno - 1, f"softcheck: {self.name}"


def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> Any:
    function = obj.__func__ if isinstance(obj, staticmethod) else obj
    marks = getattr(function, "__softcheck__", None)
    if not marks or not isinstance(collector, (pytest.Module, pytest.Class)) or not callable(function):
        return None
    if isinstance(collector, pytest.Class) and next(iter(inspect.signature(function).parameters), "") == "self":
        raise collector.CollectError(f"@softcheck.kernel of {name}: need a function without self, a staticmethod in a class")
    return list(_items(collector, name, function, marks))


def _items(collector: Any, name: str, function: Any, marks: list[Mark]) -> Iterator[KernelItem]:
    for mark in marks:
        title = f"{name}[{mark.op}-{_arrays.dtype_of(mark.dtype)}]"
        yield KernelItem.from_parent(collector, name=title, function=function, mark=mark)

"""The pytest plugin: functions under @softcheck.kernel become tests."""

from __future__ import annotations

import functools
import inspect
import itertools
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence, get_args

import pytest

from . import _arrays
from ._mark import Mark
from ._ops import OPS
from ._words import Effort


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("softcheck")
    group.addoption("--softcheck-effort", default="quick", choices=get_args(Effort),
                    help="how long each kernel is looked at (quick)")
    group.addoption("--softcheck-seed", type=int, default=None, help="seed of the random cases")
    group.addoption("--softcheck-budget", type=float, default=None, help="seconds for each kernel")


class KernelItem(pytest.Item):
    """One kernel at one dtype, with one value of each parameter that pytest.mark.parametrize gives."""

    def __init__(
        self, *, function: Any, mark: Mark, marks: Iterable[pytest.Mark], values: dict[str, Any], **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        self.obj = function  # a text as skipif's condition is evaluated with its module's names
        self._function = functools.partial(function, **values) if values else function
        self._mark = mark
        self.own_markers.extend(marks)
        self.keywords.update({mark.name: mark for mark in self.own_markers})

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
        code = getattr(self.obj, "__code__", None)  # pytest.mark.skip needs a line, even for an object without one
        return self.path, 0 if code is None else code.co_firstlineno - 1, f"softcheck: {self.name}"


def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> Any:
    function = obj.__func__ if isinstance(obj, staticmethod) else obj
    marks = getattr(function, "__softcheck__", None)
    if not marks or not isinstance(collector, (pytest.Module, pytest.Class)) or not callable(function):
        return None
    if isinstance(collector, pytest.Class) and next(iter(inspect.signature(function).parameters), "") == "self":
        raise collector.CollectError(f"@softcheck.kernel of {name}: need a function without self, a staticmethod in a class")
    return list(_items(collector, name, function, marks))


class _Set(NamedTuple):
    """One set of values of a parametrize."""

    title: str
    values: dict[str, Any]
    marks: tuple[pytest.Mark, ...]


def _plain(marks: Iterable[Any]) -> tuple[pytest.Mark, ...]:
    return tuple(getattr(mark, "mark", mark) for mark in marks)


_OF_PARAM = type(pytest.param())


def _sets(collector: Any, name: str, function: Any, mark: Mark, parametrize: pytest.Mark) -> Iterator[_Set]:
    """What parametrize(argnames, argvalues, ids=None) gives, as pytest reads and names it."""

    takes = mark.arguments.get("takes") or (OPS[mark.op].parameters if mark.op in OPS else ())
    given = takes.values() if isinstance(takes, Mapping) else takes

    def of(
        argnames: str | Sequence[str], argvalues: Iterable[Any], indirect: Any = False, ids: Any = None, **_: Any
    ) -> Iterator[_Set]:
        names = [word.strip() for word in argnames.split(",")] if isinstance(argnames, str) else list(argnames)
        own = inspect.signature(function).parameters
        for word in names:
            if word not in own or word in given or indirect:
                raise collector.CollectError(
                    f"@pytest.mark.parametrize of {name}: need parameters of the function that softcheck does not give, "
                    f"and no fixtures, got {word!r}"
                )
        for i, entry in enumerate(argvalues):
            whole = isinstance(entry, _OF_PARAM)
            values = entry.values if whole else (entry,) if len(names) == 1 else tuple(entry)
            if len(values) != len(names):
                raise collector.CollectError(f"@pytest.mark.parametrize of {name}: need {len(names)} values, got {entry!r}")
            title = entry.id if whole and entry.id is not None else None if ids is None or callable(ids) else list(ids)[i]
            if title is None:
                title = "-".join(_title(word, value, i, ids) for word, value in zip(names, values))
            yield _Set(str(title), dict(zip(names, values)), _plain(entry.marks) if whole else ())

    return of(*parametrize.args, **parametrize.kwargs)


def _title(name: str, value: Any, index: int, ids: Any) -> str:
    named = ids(value) if callable(ids) else None
    if named is None:
        named = value if isinstance(value, (str, int, float, bool, complex, type(None))) else getattr(value, "__name__", None)
    return f"{name}{index}" if named is None and value is not None else str(named)


def _items(collector: Any, name: str, function: Any, marks: list[Mark]) -> Iterator[KernelItem]:
    pytest_marks = _plain(getattr(function, "pytestmark", ()))
    several = [mark for mark in (*pytest_marks, *collector.iter_markers()) if mark.name == "parametrize"]
    own = [mark for mark in pytest_marks if mark.name != "parametrize"]
    for mark in marks:
        for sets in itertools.product(*(_sets(collector, name, function, mark, parameters) for parameters in several)):
            title = "-".join([mark.op, _arrays.dtype_of(mark.dtype), *(one.title for one in sets)])
            values = {parameter: value for one in sets for parameter, value in one.values.items()}
            yield KernelItem.from_parent(
                collector,
                name=f"{name}[{title}]",
                function=function,
                mark=mark,
                marks=[*own, *(mark for one in sets for mark in one.marks)],
                values=values,
            )

"""libsoftcheck through ctypes: the options of softcheck.h, and one Python function for each C function."""

from __future__ import annotations

import _imp
import contextlib
import ctypes
import json
import math
import operator
import os
import pathlib
import signal
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Iterator

import numpy as np

from ._abi import Call, TensorCall

if TYPE_CHECKING:
    from ._masks import Known

# The statuses of softcheck.h, which are the exit codes of the softcheck command.
PASS, FAIL, USAGE, MALFORMED, REFUSED, UNDECIDED, CRASHED, TIMED_OUT = range(8)
INTERNAL = 70

FUNCTION = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Call), ctypes.c_void_p)
_INTERRUPTED = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_FIXED = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p)
_PROGRESS = ctypes.PYFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_double
)


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("op", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("out_dtype", ctypes.c_char_p),
        ("contract", ctypes.c_char_p),
        ("domain", ctypes.c_char_p),
        ("require", ctypes.c_char_p),
        ("exempt", ctypes.c_char_p),
        ("effort", ctypes.c_char_p),
        ("replay", ctypes.c_char_p),
        ("isolation", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("again", ctypes.c_char_p),
        ("budget", ctypes.c_double),
        ("time_limit", ctypes.c_double),
        ("load_limit", ctypes.c_double),
        ("memory_limit", ctypes.c_double),
        ("max_length", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("cases", ctypes.c_uint64),
        ("worst", ctypes.c_uint64),
        ("interrupted", _INTERRUPTED),
        ("progress", _PROGRESS),
        ("context", ctypes.c_void_p),
        ("device", ctypes.c_char_p),
        ("after_fork", ctypes.c_void_p),
        ("max_calls", ctypes.c_uint64),
        ("fixed_mask", _FIXED),
        ("fixed_bias", _FIXED),
    ]


class CertifyOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("eps", ctypes.c_double),
        ("items", ctypes.c_uint64),
        ("layers", ctypes.c_char_p),
        ("activations", ctypes.c_char_p),
        ("fail_if", ctypes.c_char_p),
        ("threads", ctypes.c_uint),
        ("interrupted", ctypes.c_void_p),
        ("progress", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("tokens", ctypes.c_char_p),
        ("attention", ctypes.c_void_p),
        ("html", ctypes.c_int),
    ]


def library_path() -> pathlib.Path:
    """SOFTCHECK_LIBRARY, for a checkout's own build; else the library in the wheel."""
    named = os.environ.get("SOFTCHECK_LIBRARY")
    if named:
        return pathlib.Path(named)
    return pathlib.Path(__file__).parent / "lib" / "libsoftcheck.so"


def _load() -> ctypes.PyDLL:
    path = library_path()
    if not path.exists():
        raise ImportError(
            f"softcheck: need libsoftcheck.so, got nothing at {path}: install the wheel, or set SOFTCHECK_LIBRARY"
        )
    # PyDLL keeps the interpreter's lock during a call: a fork of the library then holds it, and can run Python.
    library = ctypes.PyDLL(str(path))
    report = ctypes.POINTER(ctypes.c_char_p)
    options = ctypes.POINTER(Options)
    call = ctypes.POINTER(Call)
    doubles = ctypes.POINTER(ctypes.c_double)
    for name, arguments in {
        "softcheck_judge_library": [ctypes.c_char_p, options, report],
        "softcheck_infer_library": [ctypes.c_char_p, options, report],
        "softcheck_judge_function": [FUNCTION, ctypes.c_void_p, options, report],
        "softcheck_infer_function": [FUNCTION, ctypes.c_void_p, options, report],
        "softcheck_judge_tensors": [call, options, report],
        "softcheck_reference": [call, ctypes.c_uint32, options, doubles, doubles, ctypes.c_size_t, report],
        "softcheck_threshold": [call, ctypes.c_uint32, options, doubles, ctypes.c_size_t, report],
        "softcheck_certify": [ctypes.c_char_p, ctypes.POINTER(CertifyOptions), report],
    }.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = ctypes.c_int
    library.softcheck_version.restype = library.softcheck_describe.restype = ctypes.c_char_p
    library.softcheck_free.argtypes = [ctypes.c_char_p]
    library.softcheck_free.restype = None
    library.softcheck_printed.argtypes = [ctypes.c_char_p]
    library.softcheck_printed.restype = None
    return library


_library = _load()
# One judgement at a time: the library forks, and a fork has only the thread that made it.
_judging = threading.Lock()


def version() -> str:
    return _library.softcheck_version().decode()


def describe() -> dict[str, Any]:
    """The library's tables: ops with their inputs and claims, dtypes, words of contracts and domains, verdicts with their
    exit codes (softcheck_describe of softcheck.h)."""
    return json.loads(_library.softcheck_describe())


def printed(text: str) -> None:
    _library.softcheck_printed(text.encode(errors="replace"))


class UsageError(ValueError):
    """An argument is wrong; the message names the values that are allowed and the one that was given."""


def shown(value: Any) -> str:
    """A wrong argument in a message of one line: its value, or its type."""
    text = repr(value)
    return text if len(text) <= 120 and "\n" not in text else f"an object of {type(value).__name__}"


def number(name: str, value: Any) -> float:
    """The number. Raises UsageError, as the functions below, for anything else: float() would accept a text."""
    if not isinstance(value, (str, bytes)):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise UsageError(f"{name}: need a number, got {shown(value)}")


def whole(name: str, value: Any, least: int, most: int) -> int:
    """The whole number, in a range: ctypes would keep only the low bits of a larger one."""
    with contextlib.suppress(TypeError):
        if least <= operator.index(value) <= most:
            return operator.index(value)
    raise UsageError(f"{name}: need a whole number from {least} to {most}, got {shown(value)}")


def flag(name: str, value: Any) -> bool:
    """The truth value; a text is refused, since any text is true, "no" as well."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise UsageError(f"{name}: need True or False, got {shown(value)}")


def path(name: str, value: Any) -> str:
    try:
        return os.fsdecode(value)
    except TypeError:
        raise UsageError(f"{name}: need a path, got {shown(value)}") from None


def _set(options: ctypes.Structure, name: str, value: Any) -> None:
    """Sets an option, which must have its field's type: ctypes would take an integer for an address, and cut a
    large one."""
    kind = next(field[1] for field in options._fields_ if field[0] == name)
    if kind is ctypes.c_char_p:
        if not isinstance(value, str) or "\0" in value:
            raise UsageError(f"{name}: need a text, got {shown(value)}")
        value = value.encode(errors="surrogateescape")
    elif kind is ctypes.c_double:
        value = number(name, value)
    else:
        value = whole(name, value, 0, 2 ** (8 * ctypes.sizeof(kind)) - 1)
    setattr(options, name, value)


def _filled(options: Any, words: dict[str, Any]) -> Any:
    for name, value in words.items():
        if value is not None:
            _set(options, name, value)
    return options


def _options(words: dict[str, Any], interrupted: Callable[[], bool] | None, progress: Callable | None) -> Options:
    options = _filled(Options(size=ctypes.sizeof(Options)), words)
    options.after_fork = ctypes.cast(ctypes.pythonapi.PyOS_AfterFork_Child, ctypes.c_void_p).value
    if interrupted is not None:
        options.interrupted = _INTERRUPTED(lambda _context: int(bool(interrupted())))
    if progress is not None:
        options.progress = _PROGRESS(
            lambda _context, name, done, cases, seconds: progress(name.decode() if name else "", done, cases, seconds)
        )
    return options


def _take(status: int, report: ctypes.c_char_p) -> dict[str, Any]:
    if not report.value:
        raise MemoryError(f"softcheck: no report, status {status}")
    try:
        result = json.loads(report.value)
    finally:
        _library.softcheck_free(report)
    if result["verdict"] == "error":
        if status == INTERNAL:
            raise RuntimeError(f"softcheck: {result['error']}")
        if status in (USAGE, MALFORMED):
            raise UsageError(f"softcheck: {result['error']}")
    return result


_end = math.inf


@contextlib.contextmanager
def ending_at(moment: float) -> Iterator[None]:
    """Judgements in the block end at this moment of time.monotonic(). Until then each property may use all of the
    time; a budget would give it only a part."""
    global _end
    before, _end = _end, moment
    try:
        yield
    finally:
        _end = before


class Interruptions:
    """Ctrl-C during a judgement, which then ends with what it has found. Python runs the handler when the library
    polls."""

    def __init__(self) -> None:
        self.seen = False
        self._before: Any = None

    def __call__(self) -> bool:
        return self.seen or time.monotonic() >= _end

    def __enter__(self) -> Interruptions:
        # Python lets only the main thread set a signal handler, and runs handlers there.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, _number: int, _frame: Any) -> None:
        self.seen = True

    def end(self) -> None:
        self.seen = True


def judge(what: str | Callable, words: dict[str, Any], infer: bool, progress: Callable | None, known: Known | None = None) -> dict[str, Any]:
    """Judges "LIB:SYMBOL" or a function(call, context) -> int. Returns the report as a dictionary.

    known  what the function knows of its masks and scores
    """
    interruptions = Interruptions()
    options = _options(words, interruptions, progress)
    for name in () if known is None else known.names:
        setattr(options, f"fixed_{name}", _FIXED(known.filler(name, interruptions.end)))
    report = ctypes.c_char_p()
    of = "library" if isinstance(what, str) else "function"
    function = getattr(_library, f"softcheck_{'infer' if infer else 'judge'}_{of}")
    with _judging, interruptions:
        if isinstance(what, str):
            status = function(what.encode(), ctypes.byref(options), ctypes.byref(report))
        else:
            # CPython takes this lock before a fork, and PyOS_AfterFork_Child releases it. From 3.13 on that call ends a
            # process that does not hold the lock.
            _imp.acquire_lock()
            try:
                status = function(FUNCTION(what), None, ctypes.byref(options), ctypes.byref(report))
            finally:
                _imp.release_lock()
    if known is not None:
        known.raise_error()
    result = _take(status, report)
    if interruptions.seen:
        result["interrupted"] = True
    return result


def judge_tensors(call: TensorCall, words: dict[str, Any]) -> dict[str, Any]:
    interruptions = Interruptions()
    options = _options(words, interruptions, None)
    report = ctypes.c_char_p()
    with interruptions:
        status = _library.softcheck_judge_tensors(ctypes.byref(call.call), ctypes.byref(options), ctypes.byref(report))
    result = _take(status, report)
    if interruptions.seen:
        raise KeyboardInterrupt
    return result


def certify(path: str, words: dict[str, Any]) -> dict[str, Any]:
    """The report of softcheck_certify. Ctrl-C acts only when it is done: a certificate takes milliseconds a head."""
    options = _filled(CertifyOptions(size=ctypes.sizeof(CertifyOptions)), words)
    if "\0" in path:
        raise UsageError(f"model: need a path, got {path!r}")
    report = ctypes.c_char_p()
    status = _library.softcheck_certify(os.fsencode(path), ctypes.byref(options), ctypes.byref(report))
    result = _take(status, report)
    if result["verdict"] == "error":
        raise UsageError(f"softcheck: {result['error']}")
    return result


def _doubles(array: np.ndarray):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def _shape(call: TensorCall, which: int, options: Options) -> list[int]:
    report = ctypes.c_char_p()
    status = _library.softcheck_threshold(ctypes.byref(call.call), which, ctypes.byref(options), None, 0, ctypes.byref(report))
    result = json.loads(report.value or b"{}")
    if "shape" in result:
        _library.softcheck_free(report)
        return result["shape"]
    return _take(status, report)["shape"]


def _values(function: Callable[..., int], count: int, call: TensorCall, which: int, words: dict[str, Any]) -> list[np.ndarray]:
    """count arrays of the output's shape, filled by the function."""
    options = _options(words, None, None)
    arrays = [np.empty(shape) for shape in [_shape(call, which, options)] * count]
    report = ctypes.c_char_p()
    doubles = map(_doubles, arrays)
    status = function(ctypes.byref(call.call), which, ctypes.byref(options), *doubles, arrays[0].size, ctypes.byref(report))
    _take(status, report)
    return arrays


def reference(call: TensorCall, which: int, words: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = _values(_library.softcheck_reference, 2, call, which, words)
    return lower, upper


def threshold(call: TensorCall, which: int, words: dict[str, Any]) -> np.ndarray:
    return _values(_library.softcheck_threshold, 1, call, which, words)[0]

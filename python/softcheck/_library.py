"""libsoftcheck through ctypes: the structures of softcheck.h, one function a call."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import signal
import threading
from typing import Any, Callable, Sequence

import numpy as np

# The statuses of softcheck.h, which are the exit codes of the softcheck command.
PASS, FAIL, USAGE, MALFORMED, REFUSED, UNDECIDED, CRASHED, TIMED_OUT = range(8)
INTERNAL = 70

CALL_CRASHED = -1000001
CALL_TIMED_OUT = -1000002
CALL_MALFORMED = -1000003
CALL_REFUSED = 1

_CPU = 1  # kDLCPU
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL, _FLOAT8_E4M3FN, _FLOAT8_E5M2 = 0, 1, 2, 4, 6, 10, 12


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Call(ctypes.Structure):
    _fields_ = [
        ("abi_version", ctypes.c_uint32),
        ("n_inputs", ctypes.c_uint32),
        ("n_outputs", ctypes.c_uint32),
        ("inputs", ctypes.POINTER(ctypes.POINTER(DLTensor))),
        ("outputs", ctypes.POINTER(ctypes.POINTER(DLTensor))),
        ("theta", ctypes.c_double),
        ("scale", ctypes.c_double),
        ("causal", ctypes.c_int32),
        ("stream", ctypes.c_void_p),
    ]


class Attributes(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("window_left_plus_1", ctypes.c_int64),
        ("window_right_plus_1", ctypes.c_int64),
        ("softcap", ctypes.c_double),
        ("label_smoothing", ctypes.c_double),
        ("z_loss", ctypes.c_double),
        ("top_p", ctypes.c_double),
        ("min_p", ctypes.c_double),
        ("causal_top_left", ctypes.c_int32),
        ("lse_base2", ctypes.c_int32),
        ("renormalize", ctypes.c_int32),
        ("mean", ctypes.c_int32),
        ("k", ctypes.c_int32),
        ("reserved_2", ctypes.c_int32),
        ("ignore_index", ctypes.c_int64),
        ("page_size", ctypes.c_int64),
    ]


class Call2(ctypes.Structure):
    """What a call of version 2 is: its first member is one of version 1."""

    _fields_ = [
        ("call", Call),
        ("op", ctypes.c_uint32),
        ("input_roles", ctypes.POINTER(ctypes.c_uint32)),
        ("attributes", ctypes.POINTER(Attributes)),
    ]


_ROLES = {
    1: "mask",
    8: "lse_gradient",
    11: "class_weights",
    13: "sinks",
    14: "alibi_slopes",
    15: "bias",
    16: "cu_seqlens_q",
    17: "cu_seqlens_k",
    18: "block_table",
    19: "lengths",
}
# Those of attention's gradient, by the names of its arrays.
GRADIENT_ROLES = {"q": 2, "k": 3, "v": 4, "out": 5, "lse": 6, "out_gradient": 7}
GRADIENT_ROLES |= {name: role for role, name in _ROLES.items()}


def attributes_of(call: Call) -> dict[str, Any]:
    """The attributes of a call of version 2, those of losses, of merges, of top-k, of sampling and of attention; none of a call of version 1."""
    if call.abi_version != 2:
        return {}
    attributes = ctypes.cast(ctypes.pointer(call), ctypes.POINTER(Call2)).contents.attributes.contents
    found = {name: getattr(attributes, name) for name in ("label_smoothing", "z_loss", "ignore_index", "softcap")}
    found["window"] = (attributes.window_left_plus_1 - 1, attributes.window_right_plus_1 - 1)
    found["causal_top_left"] = bool(attributes.causal_top_left)
    found["lse_base2"] = bool(attributes.lse_base2)
    found["reduction"] = "mean" if attributes.mean else "sum"
    found["k"] = attributes.k
    found["renormalize"] = bool(attributes.renormalize)
    found["top_p"] = attributes.top_p
    found["min_p"] = attributes.min_p
    return found


def names_behind(call: Call, own_inputs: int) -> list[str]:
    """What the inputs behind the op's own are: "mask", or the names of version 2."""
    if call.abi_version != 2:
        return ["mask"] * (call.n_inputs - own_inputs)
    roles = ctypes.cast(ctypes.pointer(call), ctypes.POINTER(Call2)).contents.input_roles
    return [_ROLES[roles[i]] for i in range(own_inputs, call.n_inputs)]


FUNCTION = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Call), ctypes.c_void_p)
_INTERRUPTED = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
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
    ]


def _library_path() -> pathlib.Path:
    """SOFTCHECK_LIBRARY, for a checkout's own build; else the library that the wheel brought."""
    named = os.environ.get("SOFTCHECK_LIBRARY")
    if named:
        return pathlib.Path(named)
    return pathlib.Path(__file__).parent / "lib" / "libsoftcheck.so"


def _load() -> ctypes.PyDLL:
    path = _library_path()
    if not path.exists():
        raise ImportError(
            f"softcheck: need libsoftcheck.so, got nothing at {path}: install the wheel, or set SOFTCHECK_LIBRARY"
        )
    # PyDLL keeps the interpreter's lock during a call: what the library forks then holds it, and can run Python.
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
    library.softcheck_version.restype = ctypes.c_char_p
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


def printed(text: str) -> None:
    _library.softcheck_printed(text.encode(errors="replace"))


class UsageError(ValueError):
    """An argument is wrong: what is needed, and what was got."""


def _options(words: dict[str, Any], interrupted: Callable[[], bool] | None, progress: Callable | None) -> Options:
    options = Options(size=ctypes.sizeof(Options))
    for name, value in words.items():
        if value is None:
            continue
        setattr(options, name, value.encode() if isinstance(value, str) else value)
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


class _Interruptions:
    """Ctrl-C during a judgement: it ends with what is known by then. Python runs the handler while the library asks."""

    def __init__(self) -> None:
        self.seen = False
        self._before: Any = None

    def __call__(self) -> bool:
        return self.seen

    def __enter__(self) -> _Interruptions:
        # Python lets only the main thread set a signal handler, and runs handlers there.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, _number: int, _frame: Any) -> None:
        self.seen = True


def judge(what: str | Callable, words: dict[str, Any], infer: bool, progress: Callable | None) -> dict[str, Any]:
    """Judges "LIB:SYMBOL" or a function(call, context) -> int; the report as a dictionary."""
    interruptions = _Interruptions()
    options = _options(words, interruptions, progress)
    report = ctypes.c_char_p()
    with _judging, interruptions:
        if isinstance(what, str):
            function = _library.softcheck_infer_library if infer else _library.softcheck_judge_library
            status = function(what.encode(), ctypes.byref(options), ctypes.byref(report))
        else:
            function = _library.softcheck_infer_function if infer else _library.softcheck_judge_function
            status = function(FUNCTION(what), None, ctypes.byref(options), ctypes.byref(report))
    result = _take(status, report)
    if interruptions.seen:
        result["interrupted"] = True
    return result


# The element types: the name of softcheck's command, that of NumPy or ml_dtypes, DLPack's code and bits.
_FORMATS = (
    ("f64", "float64", _FLOAT, 64),
    ("f32", "float32", _FLOAT, 32),
    ("f16", "float16", _FLOAT, 16),
    ("bf16", "bfloat16", _BFLOAT, 16),
    ("e4m3", "float8_e4m3fn", _FLOAT8_E4M3FN, 8),
    ("e5m2", "float8_e5m2", _FLOAT8_E5M2, 8),
)
FORMAT_NAMES = ", ".join(long for _, long, _, _ in _FORMATS[:-1]) + " or " + _FORMATS[-1][1]
# softcheck's names by both.
DTYPES = {long: short for short, long, _, _ in _FORMATS} | {short: short for short, _, _, _ in _FORMATS}
LONG_NAMES = {short: long for short, long, _, _ in _FORMATS}
FORMATS_BY_TYPE = {(code, bits): short for short, _, code, bits in _FORMATS}
# Of which NumPy has no type: their arrays are of their bits, and ml_dtypes has the types.
OF_BITS = frozenset(short for short, _, code, _ in _FORMATS if code != _FLOAT)
_TYPES = {short: (code, bits) for short, _, code, bits in _FORMATS} | {"int64": (_INT, 64), "int32": (_INT, 32)}


def bits_dtype(name: str) -> np.dtype:
    """The NumPy type that stands for a softcheck dtype; one of OF_BITS as an unsigned integer."""
    return np.dtype(f"uint{_TYPES[name][1]}" if name in OF_BITS else LONG_NAMES[name])


class Tensor:
    """A DLTensor over a NumPy array, which it keeps alive. A dtype that NumPy has not comes as its bits."""

    def __init__(self, array: np.ndarray, dtype: str) -> None:
        self.array = array
        code, bits = _TYPES[dtype] if dtype in _TYPES else (_UINT, 8)
        dimensions = array.ndim
        self._shape = (ctypes.c_int64 * max(dimensions, 1))(*array.shape)
        self._strides = (ctypes.c_int64 * max(dimensions, 1))(*(s // array.itemsize for s in array.strides))
        self.tensor = DLTensor(
            data=array.ctypes.data if array.size else None,
            device=DLDevice(_CPU, 0),
            ndim=dimensions,
            dtype=DLDataType(code, bits, 1),
            shape=self._shape,
            strides=self._strides,
            byte_offset=0,
        )


class TensorCall:
    """A softcheck_call with tensors of the caller's; with attributes one of version 2, which may name its inputs' roles."""

    def __init__(
        self,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        theta: float,
        scale: float,
        causal: bool,
        attributes: dict[str, Any] | None = None,
        roles: Sequence[int] = (),
    ) -> None:
        self._keep = (inputs, outputs)
        pointer = ctypes.POINTER(DLTensor)
        self._inputs = (pointer * max(len(inputs), 1))(*(ctypes.pointer(t.tensor) for t in inputs))
        self._outputs = (pointer * max(len(outputs), 1))(*(ctypes.pointer(t.tensor) for t in outputs))
        self.call = Call(1, len(inputs), len(outputs), self._inputs, self._outputs, theta, scale, int(causal), None)
        if attributes is not None:
            self._attributes = Attributes(size=ctypes.sizeof(Attributes), **attributes)
            self.call.abi_version = 2
            # Of results at hand the library reads the roles of attention's gradient alone, and no op.
            self._roles = (ctypes.c_uint32 * max(len(roles), 1))(*roles)
            self._whole = Call2(self.call, 0, self._roles, ctypes.pointer(self._attributes))
            self.call = self._whole.call


def judge_tensors(call: TensorCall, words: dict[str, Any]) -> dict[str, Any]:
    interruptions = _Interruptions()
    options = _options(words, interruptions, None)
    report = ctypes.c_char_p()
    with interruptions:
        status = _library.softcheck_judge_tensors(ctypes.byref(call.call), ctypes.byref(options), ctypes.byref(report))
    result = _take(status, report)
    if interruptions.seen:
        raise KeyboardInterrupt
    return result


def certify(path: str, words: dict[str, Any]) -> dict[str, Any]:
    """The report of softcheck_certify. A certificate takes milliseconds a head: Ctrl-C acts when it is done."""
    options = CertifyOptions(size=ctypes.sizeof(CertifyOptions))
    for name, value in words.items():
        if value is not None:
            setattr(options, name, value.encode() if isinstance(value, str) else value)
    report = ctypes.c_char_p()
    status = _library.softcheck_certify(path.encode(), ctypes.byref(options), ctypes.byref(report))
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


def reference(call: TensorCall, which: int, words: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    options = _options(words, None, None)
    shape = _shape(call, which, options)
    lower, upper = np.empty(shape), np.empty(shape)
    report = ctypes.c_char_p()
    status = _library.softcheck_reference(
        ctypes.byref(call.call), which, ctypes.byref(options), _doubles(lower), _doubles(upper), lower.size, ctypes.byref(report)
    )
    _take(status, report)
    return lower, upper


def threshold(call: TensorCall, which: int, words: dict[str, Any]) -> np.ndarray:
    options = _options(words, None, None)
    allowed = np.empty(_shape(call, which, options))
    report = ctypes.c_char_p()
    status = _library.softcheck_threshold(
        ctypes.byref(call.call), which, ctypes.byref(options), _doubles(allowed), allowed.size, ctypes.byref(report)
    )
    _take(status, report)
    return allowed

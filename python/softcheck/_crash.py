"""The text by which a report shows an exception that a function raised."""

from __future__ import annotations

import sys
import traceback
from types import TracebackType
from typing import Sequence

import numpy as np

# libsoftcheck shows the last ten lines that a call printed, of its last 2,048 bytes (printed_lines.hpp). Those below have
# room for the frames where each line has at most 200 bytes.
_LINES = 10
_LINE_BYTES = 200
_MESSAGE_LINES = 3
_CALLERS = ("softcheck._function", "softcheck._worker")


def _cut(line: str) -> str:
    data = line.encode(errors="replace")
    return line if len(data) <= _LINE_BYTES else data[: _LINE_BYTES - 3].decode(errors="ignore") + "..."


def _first_few(lines: list[str], most: int) -> list[str]:
    return lines if len(lines) <= most else [*lines[: most - 1], f"... {len(lines) - most + 1} more lines"]


def _frames(below: TracebackType | None, most: int) -> list[str]:
    """The frames from the function on, one a line: the first and the last ones if there are too many."""
    while below is not None and below.tb_next is not None and below.tb_frame.f_globals.get("__name__") in _CALLERS:
        below = below.tb_next
    lines = [f'  File "{f.filename}", line {f.lineno}, in {f.name}: {f.line}' for f in traceback.extract_tb(below)]
    if len(lines) <= most:
        return lines
    return [lines[0], f"  ... {len(lines) - most + 1} more frames", *lines[len(lines) - most + 2 :]]


def _arrays_of_another_library(error: Exception) -> list[str]:
    """A hint for a function, say of torch, that got NumPy's arrays: the argument that gives it torch's."""
    library = next((name for name in ("torch", "jax", "mlx", "tensorflow", "cupy") if name in sys.modules), None)
    if library is None or "ndarray" not in str(error):
        return []
    typed = "dtype=torch.float32 or " if library == "torch" else ""
    return [f"softcheck: it was given NumPy's arrays; {typed}arrays='{library}' gives it {library}'s"]


def crash_text(error: BaseException, inputs: Sequence[tuple[np.ndarray, str]] | None, arrays: str = "") -> str:
    """The exception's traceback without softcheck's own frames, how its kind could be a refusal, the domain without
    calls like this one if that is empty, and the arrays that the function needs. Ten lines at most, all of which a
    report shows.

    arrays  the library of the arrays that the function got
    """
    hints = []
    if isinstance(error, Exception):
        hints += _arrays_of_another_library(error) if arrays == "numpy" else []
        hints.append(f"softcheck: an exception is a crash, unless refuses=({type(error).__name__},) makes it a refusal")
        if inputs is not None and any(array.size == 0 for array, _ in inputs):
            shape = inputs[0][0].shape
            words = "queries>=1 keys>=1" if len(shape) != 2 else "rows>=1" if shape[1] else "n>=1"
            hints.append(f"softcheck: this call is empty; domain='{words}' leaves such calls out")
    message = "".join(traceback.format_exception_only(type(error), error)).splitlines()
    message = _first_few([line for line in message if line.strip()], _MESSAGE_LINES)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        message.append("from " + traceback.format_exception_only(type(cause), cause)[-1].splitlines()[0])
    frames = _frames(error.__traceback__, _LINES - 1 - len(message) - len(hints))
    lines = ["Traceback (most recent call last):", *frames, *message, *hints]
    return "".join(_cut(line) + "\n" for line in lines)

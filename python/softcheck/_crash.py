"""The text by which a report shows an exception that a function raised."""

from __future__ import annotations

import re
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


def _files_not_written(error: BaseException) -> list[str]:
    """Where a contained process was refused a file: a compiler's, or any other."""
    text = f"{error} {error.__cause__ or error.__context__ or ''}"
    if "Read-only file system" not in text and "Permission denied" not in text:
        return []
    if type(error).__module__.startswith("torch._"):
        return ["softcheck: torch.compile writes files, which a contained fork may not; isolation='spawn', time_limit=120 lets it"]
    return ["softcheck: a contained fork may write no files; isolation='spawn' calls the function in an interpreter of its own"]


def _grouped_heads(inputs: Sequence[tuple[np.ndarray, str]], error: BaseException) -> list[str]:
    """Where q has more heads than k and the function could not take that: what lets it, or the domain without such calls."""
    if len(inputs) < 3:
        return []
    q, k = inputs[0][0].shape, inputs[1][0].shape
    if len(q) != len(k) or len(q) not in (3, 4) or q[1] == k[1] or 0 in (q[1], k[1]):
        return []
    frames = traceback.extract_tb(error.__traceback__)
    gqa = "F.scaled_dot_product_attention takes them with enable_gqa=True; "
    named = any("scaled_dot_product_attention" in (frame.line or "") for frame in frames)
    return [f"softcheck: this call has grouped heads, {q[1]} of q and {k[1]} of k; {gqa if named else ''}domain='group=1' leaves them out"]


def _triton_interpreter(error: BaseException) -> list[str]:
    """What Triton's interpreter lacks, and a GPU has."""
    if type(error).__name__ != "InterpreterError":
        return []
    if "cannot convert None" in str(error):
        return ["softcheck: in Triton's interpreter the functions of libdevice are None; on a GPU they work"]
    if "All-NaN" in str(error):
        return ["softcheck: in Triton's interpreter argmax fails on a row of NaN; domain='finite' leaves NaN out"]
    return []


def _labels(inputs: Sequence[tuple[np.ndarray, str]], error: BaseException) -> list[str]:
    """Where a loss could not take the call's labels: what it needs, or the domain without such labels."""
    if len(inputs) < 2 or inputs[1][1] not in ("i32", "i64"):
        return []
    if re.search(r"\bLong\b.*\bInt\b", str(error)):
        return ["softcheck: this call has labels of int32; labels.long() makes them int64, which torch's losses need"]
    if (inputs[1][0] < 0).any():
        return ["softcheck: this call has a label < 0, that of an ignored row; domain='noignored' leaves such calls out"]
    return []


def crash_text(error: BaseException, inputs: Sequence[tuple[np.ndarray, str]] | None, arrays: str = "", contained: bool = False) -> str:
    """The exception's traceback without softcheck's own frames, how its kind could be a refusal, and the arrays that
    the function needs. Ten lines at most, all of which a report shows.

    arrays  the library of the arrays that the function got
    contained  in a fork that may write no files
    """
    hints = []
    if isinstance(error, Exception):
        hints += _files_not_written(error) if contained else []
        hints += _arrays_of_another_library(error) if arrays == "numpy" else []
        hints += _triton_interpreter(error)
        hints += [] if inputs is None else _grouped_heads(inputs, error) + _labels(inputs, error)
        hints.append(f"softcheck: an exception is a crash, unless refuses=({type(error).__name__},) makes it a refusal")
    message = "".join(traceback.format_exception_only(type(error), error)).splitlines()
    message = _first_few([line for line in message if line.strip()], _MESSAGE_LINES)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        message.append("from " + traceback.format_exception_only(type(cause), cause)[-1].splitlines()[0])
    frames = _frames(error.__traceback__, _LINES - 1 - len(message) - len(hints))
    lines = ["Traceback (most recent call last):", *frames, *message, *hints]
    return "".join(_cut(line) + "\n" for line in lines)

"""Runs a function in a fresh interpreter, for libraries that may not be forked: JAX, MLX, TensorFlow, CUDA."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import pickle
import signal
import sys
import tempfile
import traceback
import types
from multiprocessing.connection import Connection
from typing import Any, Iterator

from . import _abi, _library
from ._crash import crash_text
from ._function import Adapter, Refused, Request, WrongResult, fill_new_memory, require_device


def _pickled(adapter: Adapter) -> tuple[bytes, bool]:
    """The pickled adapter, and whether the new process must run the caller's script to unpickle it."""
    data = error = None
    try:
        data = pickle.dumps(adapter)
    except Exception as failure:
        error = failure
    if data is not None and b"__main__" not in data:
        return data, False
    try:
        import cloudpickle  # it takes the script's own functions along

        return cloudpickle.dumps(adapter), False
    except ImportError:
        if data is not None:
            return data, True
        raise ValueError(
            "check: isolation='spawn' needs a function that another process can import, got "
            f"{adapter.function!r} ({error}): move it to the top of a module, install cloudpickle, or use "
            "isolation='none'"
        ) from None


@contextlib.contextmanager
def _script(is_needed: bool) -> Iterator[None]:
    """Within it a new process runs the caller's script again only if that is needed: that would judge once more, for
    few scripts have an if __name__ == "__main__"."""
    script = sys.modules["__main__"]
    if not is_needed:
        sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _serve(pickled: bytes, connection: Connection, printed: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the judge ends this process
    with open(printed, "a", buffering=1) as file:
        faulthandler.enable(file)
        try:
            adapter = pickle.loads(pickled)
            if adapter.device is not None:
                require_device(adapter.device)
            fill_new_memory()
            connection.send(("ready", None))
        except _library.UsageError as error:
            connection.send(("wrong", str(error)))
            return
        except BaseException:  # noqa: BLE001
            connection.send(("failed", traceback.format_exc()))
            return
        while True:
            request = connection.recv()
            try:
                adapter.answer(request)
                connection.send(("done", [array for array, _ in request.outputs]))
            except Refused:
                connection.send(("refused", None))
            except WrongResult as error:
                connection.send(("malformed", f"softcheck: the function's result: {error}\n"))
            except BaseException as error:  # noqa: BLE001
                connection.send(("raised", crash_text(error, request.inputs, adapter.arrays)))


class SpawnedCall:
    """The function that the library calls in this process. It passes each call to the worker, and restarts a worker
    that died."""

    def __init__(self, adapter: Adapter, time_limit: float, load_limit: float) -> None:
        self._pickled, self._needs_script = _pickled(adapter)
        self._own_inputs = adapter.own_inputs
        self._time_limit = time_limit
        self._load_limit = load_limit
        self._process: Any = None
        self._connection: Any = None
        self._printed = tempfile.NamedTemporaryFile("r", prefix="softcheck-", suffix=".txt")

    def __enter__(self) -> SpawnedCall:
        self._start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop()
        self._printed.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, there = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(self._pickled, there, self._printed.name), daemon=True
        )
        with _script(self._needs_script):
            self._process.start()
        there.close()
        word, text = "failed", f"no answer within {self._load_limit:g} s"
        try:
            if self._connection.poll(self._load_limit):
                word, text = self._connection.recv()
        except EOFError:
            self._process.join(5)
            text = f"its process ended with {self._process.exitcode} while loading"
            if self._needs_script:
                text += "; call check under if __name__ == '__main__':, for it runs this script again, or install cloudpickle"
        if word != "ready":
            self._stop()
            if word == "wrong":
                raise _library.UsageError(text)
            raise RuntimeError(f"check: the function cannot be loaded in a process of its own: {text}")

    def _stop(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.join()
        self._connection.close()
        self._process = None

    def _ended(self, text: str, code: int) -> int:
        self._printed.seek(0, 2)
        _library.printed(text)
        return code

    def __call__(self, call: Any, _context: Any) -> int:
        try:
            request = Request.of(call.contents, self._own_inputs)
            if self._process is None:
                self._start()
            return self._ask(request)
        except KeyboardInterrupt:
            self._stop()
            return self._ended("interrupted\n", _abi.CALL_TIMED_OUT)
        except BaseException:  # noqa: BLE001: nothing may cross into C
            self._stop()
            return self._ended(traceback.format_exc(), _abi.CALL_CRASHED)

    def _ask(self, request: Request) -> int:
        try:
            self._connection.send(request.copied())
            if not self._connection.poll(self._time_limit):
                self._stop()
                return self._ended(f"no answer within {self._time_limit:g} s\n", _abi.CALL_TIMED_OUT)
            word, what = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join(5)
            code = self._process.exitcode
            how = signal.Signals(-code).name if code is not None and code < 0 else f"exit({code})"
            self._stop()
            return self._ended(f"{self._printed.read()}the process ended: {how}\n", _abi.CALL_CRASHED)
        if word == "done":
            for (output, _dtype), array in zip(request.outputs, what):
                output[...] = array
            return 0
        if word == "refused":
            return _abi.CALL_REFUSED
        return self._ended(what, _abi.CALL_MALFORMED if word == "malformed" else _abi.CALL_CRASHED)

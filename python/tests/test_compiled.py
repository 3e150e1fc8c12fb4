"""What a report says of a function that compiles at its first call: a stub has the marks and the errors of torch.compile."""

import functools
import types

import kernels
import numpy as np
import pytest

import softcheck
from softcheck import _compiled, _crash, grade


class InductorError(RuntimeError):
    """torch's compiler could not write its files."""


InductorError.__module__ = "torch._inductor.exc"


def _compile(function):
    """As torch.compile leaves a function: with the original one, and unable to write."""

    @functools.wraps(function)
    def compiled(*arrays):
        raise InductorError("PermissionError: [Errno 13] Permission denied: '/tmp/torchinductor/locks/c.lock'")

    compiled._torchdynamo_orig_callable = function
    return compiled


_compiled_softmax = _compile(kernels.softmax)


def _calls_a_compiled_one(x):
    return _compiled_softmax(x)


def _names_this_package(x):
    return softcheck.reference(x) and grade  # the package has a submodule of the name that torch's modules keep their parts in


def _around(function):
    return lambda x: function(x)


class _Module:
    def __init__(self, **parts):
        self._modules = parts
        self._compiled_call_impl = None

    def __call__(self, x):
        return x


def _compiled_in_place():
    module = _Module()
    module._compiled_call_impl = module.__call__
    return module


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_compiled_softmax, True),
        (_calls_a_compiled_one, True),
        (_around(_compiled_softmax), True),
        (functools.partial(_calls_a_compiled_one), True),
        (_Module(inner=_compiled_softmax), True),
        (_compiled_in_place(), True),
        (_Module(inner=kernels.softmax), False),
        (kernels.softmax, False),
        (_names_this_package, False),
        (_around(kernels.softmax), False),
        (functools.partial(kernels.softmax), False),
        (np.exp, False),
        (types.SimpleNamespace(), False),
    ],
)
def test_a_function_that_compiles_is_known(function, expected):
    assert _compiled.compiles(function) is expected


def test_the_report_names_the_cause_and_what_to_do():
    text = softcheck.check(_calls_a_compiled_one, domain="n<=64").text
    assert "softcheck: torch.compile writes files, which a contained fork may not; isolation='spawn', time_limit=120 lets it" in text
    assert "isolation='spawn', time_limit=120 judges it" in text.splitlines()[-2]


def test_a_file_that_cannot_be_written_is_named_without_torch():
    def softmax(x):
        raise OSError(30, "Read-only file system", "/cache")

    text = softcheck.check(softmax, domain="n<=64").text
    assert "softcheck: a contained fork may write no files; isolation='spawn' calls the function" in text
    assert "torch.compile" not in text


def test_other_crashes_and_other_processes_have_no_such_line():
    error = OSError(30, "Read-only file system", "/cache")
    assert "isolation=" not in _crash.crash_text(error, None)
    assert "isolation=" not in _crash.crash_text(ValueError("no"), None, contained=True)
    assert "isolation=" in _crash.crash_text(error, None, contained=True)
    assert "torch.compile" not in softcheck.check(kernels.softmax, domain="n<=64").text

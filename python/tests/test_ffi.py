"""The C library as any program's foreign function interface meets it: its header's promises, without the package's help."""

import ctypes
import json
import re

import numpy as np
import pytest
from softcheck import _abi, _dtypes, _library

LIBRARY = _library._library
X = np.array([[0, 1, 2]], np.float32)


def filled(function, which=0, count=0, code=None):
    """The status and the report of softcheck_reference or _threshold; count None: NULL arrays for the right count."""
    tensor = _dtypes.Tensor(X, "f32")
    call = _abi.TensorCall([tensor], [], 1.0, 1.0, False)
    if code is not None:
        call.call.inputs[0].contents.dtype.code = code
    options = _library._options({"op": "softmax"}, None, None)
    arrays = [None if count is None else (ctypes.c_double * 3)()] * (2 if function == "softcheck_reference" else 1)
    report = ctypes.c_char_p()
    status = getattr(LIBRARY, function)(
        ctypes.byref(call.call), which, ctypes.byref(options), *arrays, 3 if count is None else count, ctypes.byref(report)
    )
    result = json.loads(report.value)
    LIBRARY.softcheck_free(report)
    return status, result


@pytest.mark.parametrize("function", ["softcheck_reference", "softcheck_threshold"])
@pytest.mark.parametrize(
    "arguments, status, summary",
    [
        ({"count": 3}, 0, "3 values"),
        ({"count": 0}, 2, "count: need room for 3 values, got 0"),
        ({"count": 4}, 2, "count: need room for 3 values, got 4"),
        ({"count": None}, 2, "count: need room for 3 values, got NULL"),
        ({"which": 1}, 3, "which: need an output from 0 to 0, got 1"),
        ({"code": 77}, 3, "logits: need dtype .*, got code 77 of bits 32"),
    ],
)
def test_every_status_has_a_report(function, arguments, status, summary):
    got, report = filled(function, **arguments)
    assert got == status == report["status"]
    assert re.fullmatch(summary, report["summary"]) and report["text"] == report["summary"]
    assert report["error"] == (None if status == 0 else report["summary"])


@pytest.mark.parametrize("isolation", ["full", "none"])
def test_a_replay_line_without_again_is_the_library_s_own_call(isolation):
    words = {"op": "softmax", "name": "mine", "isolation": isolation, "cases": 1}
    report = _library.judge(lambda _call, _context: 0, words, False, None)
    line = re.search(r"replay: (.*)", report["text"])[1]
    found = re.fullmatch(r"softcheck_judge_function\(mine, context, options\) with the same options, replay='(.*)'", line)
    again = _library.judge(lambda _call, _context: 0, {**words, "replay": found[1]}, False, None)
    assert report["verdict"] == again["verdict"] == "fail"

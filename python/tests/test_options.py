"""Exhaustive effort: as much of all arguments as a budget allows.
Progress is written to a terminal on standard error, whatever standard output is; nothing is where that is no terminal.
The replay line of a report, run as it is printed in a program that has the function."""

import functools
import kernels
import numpy as np
import os
import pytest
import re
import softcheck
import subprocess
import sys
from campaigns import COMMAND, KERNELS, needs_kernels


EXHAUSTIVE = {"effort": "exhaustive", "progress": False}
ROWS = {**EXHAUSTIVE, "domain": "theta=1"}
SMALL = [dtype["name"] for dtype in softcheck.describe()["dtypes"] if dtype["bits"] <= 16]


def known_within_a_budget(function, *words, known, **arguments):
    """The report of the least budget within which there is what is looked for: seconds of a loaded machine are short."""
    for budget in (1, 4, 16, 64, 256):
        report = softcheck.check(function, *words, budget=budget, **{**EXHAUSTIVE, **arguments})
        assert report.verdict == "undecided", report
        if known(report):
            return report
    pytest.fail(f"nothing is known in {budget} s: {report}")


def softmax(logits):
    x = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        weights = np.exp(x - x.max(axis=-1, keepdims=True))
        return (weights / weights.sum(axis=-1, keepdims=True)).astype(logits.dtype)


def test_a_budget_ends_it_with_what_is_known():
    known_within_a_budget(
        softmax, "softmax", "float32", domain="theta=1",
        known=lambda report: any("so far within the contract" in note for note in report.data["notes"]),
    )  # fmt: skip


def test_other_ops_are_refused():
    with pytest.raises(ValueError, match="exhaustive needs one of the ops softmax, log_softmax, logsumexp, entropy, attention"):
        softcheck.check(softmax, "sparsemax", "float32", effort="exhaustive", progress=False)


def test_what_holds_of_all_arguments_is_data_and_a_picture():
    report = known_within_a_budget(
        softmax, "softmax", "float32", domain="theta=1 n=2",
        known=lambda report: report.data["arguments"] and report.data["statements"][0]["judged"] > 0,
    )  # fmt: skip
    (pairs,) = report.data["statements"]
    assert pairs["rows"] > 1.1e9 > pairs["judged"] > 0 and pairs["verdict"] == "undecided"
    assert 0 < pairs["share"] <= pairs["share_at_most"] < 1 and pairs["worst"].startswith("row f32")
    assert {error["statement"] for error in report.data["arguments"]} == {0}
    assert all(0 <= error["worst_ulps"] <= error["allowed_ulps"] for error in report.data["arguments"])
    assert report.data["picture"] in report._repr_html_() and "softmax f32 [" in report.data["picture"]


def test_few_shapes_have_pairs_in_large_calls():
    seen = set()

    def counted(logits):
        seen.add(logits.shape)
        return softmax(logits)

    report = known_within_a_budget(
        counted, "softmax", "float32", shapes="few", isolation="none", domain="theta=1", known=lambda _: (16384, 2) in seen
    )
    assert report.data["statements"][0]["name"].endswith("n = 2, theta = 1")
    assert len(seen) <= 40


def attention(q, k, v, scale):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    with np.errstate(invalid="ignore"):
        scores = scale * (q @ k.swapaxes(-1, -2))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return (weights / weights.sum(axis=-1, keepdims=True) @ v).astype(np.float16)


def test_every_score_of_attention_is_asked_for():
    shapes = set()

    def counted(q, k, v, scale):
        shapes.add((q.shape, k.shape, v.shape))
        return attention(q, k, v, scale)

    report = known_within_a_budget(
        counted, "attention", "float16", shapes="few", isolation="none",
        known=lambda report: report.data["statements"] and report.data["statements"][0]["judged"] > 0,
    )  # fmt: skip
    (scores,) = report.data["statements"]
    assert scores["name"].startswith("every f16 query with every finite key, d = 1")
    # 17 calls hold all 65,536 queries: all but the last have one size.
    assert {queries for queries, _, _ in shapes} <= {(1, 1, 3856, 1), (1, 1, 65536 - 16 * 3856, 1)}
    assert {(keys, values) for _, keys, values in shapes} == {((1, 1, 16, 1), (1, 1, 16, 16))}


def test_attention_in_float32_is_refused():
    with pytest.raises(ValueError, match=f"needs {', '.join(SMALL[:-1])} or {SMALL[-1]} of attention, got f32"):
        softcheck.check(attention, "attention", "float32", effort="exhaustive", progress=False)


pty = pytest.importorskip("pty")

CHECK = """
import softcheck

def kept(x):
    return x

softcheck.{function}(kept, domain="n>=1 n<=9", cases=4)
print("done")
"""


def on_a_terminal(*command):
    """What the command writes to a terminal on standard error, and to the pipe on standard output."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while some := os.read(ours, 1 << 16):
                shown += some
        except OSError:  # Linux says so that the other side is closed
            pass
        os.close(ours)
        return shown.decode(), process.stdout.read().decode()


def commands(folder):
    np.save(folder / "x.npy", np.zeros((300000, 8), np.float32))
    np.save(folder / "p.npy", np.full((300000, 8), 0.125, np.float32))
    kernel = ("kernel", f"{KERNELS}/libsoftcheck_zoo.so:correct_two_pass", "--cases", "2", "--domain", "n<=9 rows<=3")
    return {
        "kernel": (COMMAND, *kernel),
        "infer": (COMMAND, *kernel, "--infer"),
        "check": (COMMAND, "check", "--logits", folder / "x.npy", "--output", folder / "p.npy"),
        "python check": (sys.executable, "-c", CHECK.format(function="check")),
        "python infer": (sys.executable, "-c", CHECK.format(function="infer")),
    }


@needs_kernels
@pytest.mark.parametrize("name", ["kernel", "infer", "check", "python check", "python infer"])
def test_progress_is_shown_on_a_terminal_beside_a_pipe(name, tmp_path):
    command = commands(tmp_path)[name]
    shown, printed = on_a_terminal(*command)
    assert (" of 300000 rows, " if name == "check" else " cases, ") in shown, shown
    assert shown.endswith("\x1b[K")  # the line is gone at the end
    assert printed and "\r" not in printed and "\x1b" not in printed
    quiet = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert quiet.stderr == "", quiet.stderr


def line_of(report):
    return re.search(r"replay: (softcheck\.check\(.*\))$", report.text, re.M)[1]


def replayed(report, **names):
    return eval(line_of(report), {"softcheck": softcheck, **names})  # noqa: S307: the line is what is tested


def fails_alike(report, **names):
    again = replayed(report, **names)
    assert again.verdict == report.verdict, f"{line_of(report)}\n{again}"
    line = line_of(report)
    assert f"replay='{again.counterexample.property} " in line
    return line


def softmax_off(x, temperature, out):
    kernels.softmax_into(x if temperature == 1 else (x / temperature).astype(x.dtype), out)
    out *= 1.5


def raises_of_shapes(x):
    if x.shape[0] > 1:
        raise NotImplementedError
    if x.shape[1] > 2:
        raise KeyError("n")
    return kernels.softmax(x)


def test_it_names_what_is_not_the_default():
    report = softcheck.check(
        softmax_off, takes={"theta": "temperature"}, out=True, isolation="none", strides=False, time_limit=7, cases=3, seed=4
    )
    line = fails_alike(report, softmax_off=softmax_off)
    assert "dtype='f32', time_limit=7, takes={'theta': 'temperature'}, out=True, strides=False, isolation='none'" in line
    assert "seed" not in line and "cases" not in line and "refuses" not in line


def test_it_names_the_dtypes_and_the_library_of_its_arrays():
    torch = pytest.importorskip("torch")

    def lse(x):
        return torch.logsumexp(x, -1) + 0.5

    report = softcheck.check(lse, "logsumexp", torch.float16, out_dtype=torch.float16, domain="n>=1", cases=3)
    assert "dtype=torch.float16, out_dtype=torch.float16, domain=" in fails_alike(report, lse=lse, torch=torch)
    report = softcheck.check(lse, "logsumexp", "float64", arrays="torch", domain="n>=1", cases=3)
    assert "dtype='f64', arrays='torch', domain=" in fails_alike(report, lse=lse)
    report = softcheck.check(torch.exp, "softmax", torch.float32, cases=3)
    assert "softcheck.check(torch.exp, op=" in fails_alike(report, torch=torch)


def test_it_names_the_exceptions_that_refuse():
    report = softcheck.check(raises_of_shapes, refuses=(NotImplementedError,), cases=3)
    assert "refuses=(NotImplementedError,)" in line_of(report)
    assert replayed(report, raises_of_shapes=raises_of_shapes).verdict == "crash"  # the KeyError, graver than the refusal


def test_it_names_no_function_that_it_cannot_name():
    wrong = [lambda x: kernels.one_item_off(x), functools.partial(kernels.one_item_off)]
    for function in wrong:
        report = softcheck.check(function, domain="n<=129 rows<=3", cases=3)
        assert "softcheck.check(your_function, op=" in fails_alike(report, your_function=function)
        assert "<lambda>" not in line_of(report)


def test_a_dtype_of_numpy_s_is_named():
    report = softcheck.check(kernels.one_item_off, dtype=np.float64, domain="n<=129 rows<=3", cases=3)
    assert "dtype='f64'" in fails_alike(report, one_item_off=kernels.one_item_off)

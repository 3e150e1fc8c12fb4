"""What a report says of a function that raises, or returns what it should not."""

import sys

import kernels
import numpy as np
import pytest

import softcheck

SMALL = "n<=129 rows<=9"


@pytest.mark.parametrize(
    "kernel, verdict, claim",
    [
        (kernels.unshifted, "fail", "kernel.softmax.element"),
        (kernels.one_item_off, "fail", "kernel.softmax.element"),
        (kernels.ignores_nan, "fail", "kernel.nan_row"),
        (kernels.transposed, "fail", "kernel.returns"),
        (kernels.widened, "fail", "kernel.returns"),
        (kernels.nothing, "fail", "kernel.returns"),
        (kernels.writes_to_its_input, "fail", "kernel.keeps_inputs"),
        (kernels.raises, "crash", "kernel.returns"),
        (kernels.hangs, "timeout", "kernel.returns"),
        (kernels.exits, "crash", "kernel.returns"),
        (kernels.segfaults, "crash", "kernel.returns"),
    ],
)
@pytest.mark.parametrize("isolation", ["fork", "spawn"])
def test_a_wrong_function_is_found(kernel, verdict, claim, isolation):
    # Each crash of a spawned process costs another one's start: with one length that crashes shrinking makes few.
    crashes = isolation == "spawn" and kernel in (kernels.exits, kernels.segfaults)
    limit = 2 if kernel is kernels.hangs else 60  # a loaded machine may take seconds for a call
    report = softcheck.check(kernel, isolation=isolation, time_limit=limit, domain="rows=1,n=5|101" if crashes else SMALL)
    if kernel is kernels.writes_to_its_input and isolation == "spawn":
        assert report.verdict == "pass"  # it was given a copy
        return
    assert report.verdict == verdict, str(report)
    assert claim in [finding.claim for finding in report.findings]


def test_a_traceback_is_shown():
    report = softcheck.check(kernels.raises, domain=SMALL)
    assert "RuntimeError: more than two rows are too many" in report.text
    assert "unless refuses=(RuntimeError,) makes it a refusal" in report.text


@pytest.mark.parametrize("isolation", ["fork", "spawn", "none"])
def test_a_traceback_begins_with_the_function_and_ends_with_its_message(isolation):
    def told(kernel):
        lines = softcheck.check(kernel, isolation=isolation, domain="rows=3 n=5", cases=1).text.splitlines()
        lines = [line.split("| ", 1)[1] for line in lines if line.startswith("          | ")]
        assert not any("_function.py" in line or "_worker.py" in line for line in lines)
        begins = [i for i, line in enumerate(lines) if line == "Traceback (most recent call last):"]
        assert begins == [0], lines  # nothing of earlier calls, which print to the same file
        return lines[1:]

    lines = told(kernels.raises)
    assert lines[0].startswith('  File "') and 'kernels.py", line ' in lines[0]
    assert lines[0].endswith(', in raises: raise RuntimeError("more than two rows are too many")')
    assert lines[1] == "RuntimeError: more than two rows are too many" and lines[2].startswith("softcheck: ")
    lines = told(kernels.raises_deep)
    assert len(lines) == 8 and ", in raises_deep: return _raises_at(x, 7)" in lines[0]
    assert lines[1] == "  ... 5 more frames" and ", in _raises_at: return _raises_at" in lines[2]
    assert lines[2].endswith(" (repeated)")  # two frames
    assert ", in _raises_at: raise RuntimeError(" in lines[3] and lines[4].startswith("RuntimeError: ")
    assert lines[5:7] == ["line 0", "... 29 more lines"]


@pytest.mark.parametrize("isolation", ["fork", "spawn"])
def test_a_crash_of_an_empty_call_names_the_domain_without_it(isolation):
    report = softcheck.check(kernels.softmax_of_some, isolation=isolation, domain=f"n>=0 {SMALL}", cases=3)
    assert report.verdict == "crash"
    assert "cause: the call is empty; the domain n>=1 leaves such calls out" in report.text
    assert softcheck.check(kernels.softmax_of_some, isolation=isolation, domain=f"finite {SMALL}", cases=3).verdict == "pass"
    assert "the call is empty" not in softcheck.check(kernels.raises, isolation=isolation, domain="rows=3,n=5").text


def test_a_wrong_shape_is_told():
    assert "need shape (1, 2), got (2, 1)\n" in softcheck.check(kernels.transposed, domain=SMALL).text


def test_a_crash_that_is_the_only_one_is_shown_once():
    text = softcheck.check(kernels.softmax_of_some, domain="n>=0 n<=129 rows<=9 nomask theta=1").text
    assert text.count("ValueError: zero-size array") == 1 and "printed" not in text
    text = softcheck.check(kernels.raises, domain=SMALL).text  # two claims end by it
    assert text.count("RuntimeError: more than two rows") <= 2 and "the last lines:" not in text


def test_a_wrong_dtype_is_told_once():
    text = softcheck.check(kernels.widened, domain=SMALL).text
    assert text.count("the function's result: need dtype f32, got f64") == 1


def test_a_changed_input_is_named():
    assert "(the call changed one of its inputs)\n" in softcheck.check(kernels.in_place, domain=SMALL, cases=5).text


def test_an_exception_may_refuse():
    report = softcheck.check(kernels.refuses_many_rows, refuses=(NotImplementedError,), domain="rows<=2 n<=129")
    assert report.verdict == "pass", str(report)
    report = softcheck.check(kernels.refuses_many_rows, refuses=(NotImplementedError,), domain="n<=129")
    assert "kernel.accepts" in [finding.claim for finding in report.findings]
    assert "check(refuses_many_rows, op='softmax', dtype='f32', refuses=(NotImplementedError,), domain='n>=1 n<=129 rows<=2 theta=1 nomask')" in report.text


def test_a_crash_names_the_exception_that_it_comes_from():
    from softcheck._crash import crash_text

    try:
        try:
            {}["block size"]
        except KeyError as missing:
            raise ValueError("no block size") from missing
    except ValueError as error:
        lines = crash_text(error, None).splitlines()
    assert lines[2:4] == ["ValueError: no block size", "from KeyError: 'block size'"], lines


def test_a_function_of_torch_that_was_given_numpy_arrays_is_told_so(monkeypatch):
    from softcheck._crash import crash_text

    wrong = TypeError("softmax(): argument 'input' (position 1) must be Tensor, not numpy.ndarray")
    said = "it was given NumPy's arrays"
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "torch")
    for library in ("jax", "mlx", "tensorflow", "cupy"):
        monkeypatch.delitem(sys.modules, library, raising=False)
    assert said not in crash_text(wrong, None, "numpy")
    monkeypatch.setitem(sys.modules, "torch", object())
    assert f"softcheck: {said}; dtype=torch.float32 or arrays='torch' gives it torch's\n" in crash_text(wrong, None, "numpy")
    assert said not in crash_text(wrong, None, "torch")
    assert said not in crash_text(TypeError("unhashable type"), None, "numpy")


@pytest.mark.parametrize(
    "labels, raised, hint",
    [
        ([0, 1], "expected target dtype to be Long or Byte, but got Int", "labels.long() makes them int64, which torch's losses need"),
        ([0, -100], "index -100 is out of bounds", "a label < 0, that of an ignored row; domain='noignored' leaves such calls out"),
        ([0, 1], "index 7 is out of bounds", None),
    ],
)
def test_labels_that_a_loss_does_not_take_are_named(labels, raised, hint):
    from softcheck._crash import crash_text

    text = crash_text(RuntimeError(raised), [(np.zeros((2, 3)), "f32"), (np.array(labels, np.int32), "i32")])
    assert hint in text if hint else " label" not in text


def test_what_tritons_interpreter_lacks_is_named():
    from softcheck._crash import crash_text

    class InterpreterError(Exception): ...

    assert "functions of libdevice are None" in crash_text(InterpreterError("TypeError('cannot convert None of type')"), None)
    assert "domain='finite' leaves NaN out" in crash_text(InterpreterError("ValueError('All-NaN slice encountered')"), None)
    assert "interpreter" not in crash_text(ValueError("All-NaN slice encountered"), None)


def test_a_loss_without_ignored_rows_passes_in_the_domain_that_its_crash_names():
    words = {"op": "cross_entropy", "contract": "exp=2ulp", "domain": "n<=9 n>=2 rows<=3 rows>=1 finite nomask"}
    report = softcheck.check(kernels.loss_of_labels, **words, cases=20)
    assert report.verdict == "crash" and "domain='noignored' leaves such calls out" in report.text, report
    report = softcheck.check(kernels.loss_of_labels, **{**words, "domain": words["domain"] + " noignored"}, cases=20)
    assert report.verdict == "pass", report


@pytest.mark.parametrize("isolation", ["fork", "spawn"])
def test_memory_that_a_function_never_wrote_is_named(isolation):
    report = softcheck.check(kernels.all_but_the_last, isolation=isolation, domain="n=3001 rows=1 finite", cases=3)
    assert report.verdict == "fail" and "cause: the kernel never wrote this value" in report.text, report

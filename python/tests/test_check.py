import ctypes
import html
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
from xml.etree import ElementTree

import kernels
import numpy as np
import pytest

import softcheck
from softcheck import _library

SMALL = "n<=129 rows<=9"
TINY = {"domain": "n<=9 rows<=3", "cases": 1}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_correct_softmax_passes(dtype):
    contract = "acc=f16 total=f16 weights=f16" if dtype == "float16" else None
    domain = {"float16": "n<=256", "float64": "n<=1024"}.get(dtype)  # the judge's filter for long rows has no float64
    report = softcheck.check(kernels.softmax, "softmax", dtype, contract=contract, domain=domain)
    assert report.verdict == "pass", str(report)
    assert report and report.findings == () and report.counterexample is None
    assert 0 < report.slack["kernel.softmax.element"] <= 1


def test_bfloat16_comes_as_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    seen = set()

    def softmax(x):
        seen.add(x.dtype)
        return kernels.softmax(x.astype(np.float32)).astype(x.dtype)

    assert softcheck.check(softmax, "softmax", "bfloat16", isolation="none", domain=SMALL).verdict == "pass"
    assert seen == {np.dtype(ml_dtypes.bfloat16)}


@pytest.mark.parametrize("dtype", kernels.EIGHT_BITS)
def test_formats_of_eight_bits_come_as_ml_dtypes(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    seen = set()

    def softmax(x, mask):
        seen.add(x.dtype)
        return kernels.softmax_at(x.astype(np.float32), np.float32(1), mask).astype(x.dtype)

    report = softcheck.check(softmax, "softmax", dtype, isolation="none", domain=SMALL)
    assert report.verdict == "pass", str(report)
    assert seen == {np.dtype(getattr(ml_dtypes, dtype))}

    def truncated(x):
        return np.floor(kernels.softmax(x.astype(np.float32)) * 16).astype(np.float32).astype(x.dtype) / x.dtype.type(16)

    report = softcheck.check(truncated, "softmax", dtype, isolation="none", domain=SMALL)
    assert report.verdict == "fail"
    assert next(iter(report.counterexample.inputs.values())).dtype == np.dtype(getattr(ml_dtypes, dtype))


def test_parameters_that_the_function_has_are_asked_for():
    report = softcheck.check(kernels.softmax_at, contract="exp=E:2,A:4", domain=SMALL)
    assert report.verdict == "pass", str(report)
    assert "theta=1" not in report.text and "nomask" not in report.text
    assert "theta=1" in softcheck.check(kernels.softmax, **TINY).text


def test_parameters_may_have_other_names():
    def softmax(x, temperature, attn_mask):
        return kernels.softmax_at(x, temperature, attn_mask)

    takes = {"theta": "temperature", "mask": "attn_mask"}
    assert softcheck.check(softmax, contract="exp=E:2,A:4", takes=takes, domain=SMALL).verdict == "pass"


def test_a_function_that_fills_an_output():
    assert softcheck.check(kernels.softmax_into, out=True, domain=SMALL).verdict == "pass"


def test_row_values():
    assert softcheck.check(kernels.logsumexp, "logsumexp", domain=SMALL).verdict == "pass"


def test_attention():
    domain = "keys<=64 queries<=64 dim<=64 batch<=2 heads<=4"
    report = softcheck.check(kernels.attention, "attention", contract="masked=zero", domain=domain)
    assert report.verdict == "pass", str(report)


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
    assert "this call is empty; domain='n>=1' leaves such calls out" in report.text
    assert softcheck.check(kernels.softmax_of_some, isolation=isolation, domain=f"finite {SMALL}", cases=3).verdict == "pass"
    assert "this call is empty" not in softcheck.check(kernels.raises, isolation=isolation, domain="rows=3,n=5").text


def test_a_domain_may_be_given_word_by_word():
    report = softcheck.check(kernels.softmax, domain=["n<=8", "rows<=2"], cases=2)
    assert report.verdict == "pass" and "n<=8 rows<=2" in report.text


def test_a_report_says_what_no_isolation_leaves_to_the_program():
    said = "a crash, a hang or a stray write of the function ends or harms this program itself"
    report = softcheck.check(kernels.softmax, isolation="none", **TINY)
    assert f"isolation: none: called in the judge's own process: {said}\n" in report.text
    assert report.data["isolation"].endswith(said)
    assert said not in softcheck.check(kernels.softmax, **TINY).text


def test_a_wrong_shape_is_told():
    assert "need shape (1, 2), got (2, 1)\n" in softcheck.check(kernels.transposed, domain=SMALL).text


def test_a_crash_that_is_the_only_one_is_shown_once():
    text = softcheck.check(kernels.softmax_of_some, domain="n>=0 n<=129 rows<=9 nomask theta=1").text
    assert text.count("ValueError: zero-size array") == 1 and "; those of a call that failed stand above\n" in text
    text = softcheck.check(kernels.raises, domain=SMALL).text  # two claims end by it
    assert text.count("RuntimeError: more than two rows") <= 2 and "the last lines:" not in text


def test_a_wrong_dtype_is_told_once():
    text = softcheck.check(kernels.widened, domain=SMALL).text
    assert text.count("the function's result: need dtype f32, got f64") == 1


def test_a_changed_input_is_named():
    assert "(the call changed one of its inputs)\n" in softcheck.check(kernels.in_place, domain=SMALL, cases=5).text


def test_parameters_that_no_call_gives_are_named():
    def softmax(x, *, block=4, temperature=1.0, dropout_p=0.0, _level=3):
        return kernels.softmax(x)

    text = softcheck.check(softmax, domain="n=2", cases=1).text.rstrip()
    assert text.endswith("left at their defaults in every call: block, temperature; takes={'theta': 'temperature'} would ask for temperature")
    assert "defaults" not in softcheck.check(kernels.softmax, **TINY).text
    assert "defaults" not in softcheck.check(softmax, takes=(), **TINY).text


def test_options_have_the_size_of_a_version():
    def status(size):
        report = ctypes.c_char_p()
        options = _library.Options(size=size, device=b"gpu")
        code = _library._library.softcheck_judge_library(b"none.so:none", options, ctypes.byref(report))
        return code, json.loads(report.value)["error"]

    whole = ctypes.sizeof(_library.Options)
    first = _library.Options.context.offset + ctypes.sizeof(ctypes.c_void_p)  # the first version, without a device
    second = _library.Options.max_calls.offset  # the second, without a limit of calls
    assert "device" in status(whole)[1] and "device" in status(second)[1]
    assert status(first) == (_library.USAGE, "kernel: no such file: none.so")
    for size in (0, first - 8, first + 8, whole - 4, whole + 8):
        assert status(size)[1].endswith(f"{first}, {second} or {whole} in this version, got {size}")


def test_an_exception_may_refuse():
    report = softcheck.check(kernels.refuses_many_rows, refuses=(NotImplementedError,), domain="rows<=2 n<=129")
    assert report.verdict == "pass", str(report)
    report = softcheck.check(kernels.refuses_many_rows, refuses=(NotImplementedError,), domain="n<=129")
    assert "kernel.accepts" in [finding.claim for finding in report.findings]
    assert "check(refuses_many_rows, op='softmax', dtype='f32', refuses=(NotImplementedError,), domain='n>=1 n<=129 rows<=2 theta=1 nomask')" in report.text


def test_the_counterexample_fails_by_itself():
    report = softcheck.check(kernels.one_item_off, domain=SMALL)
    logits = report.counterexample.inputs["logits"]
    assert logits.dtype == np.float32
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("softmax", logits, kernels.one_item_off(logits))
    assert softcheck.assert_output("softmax", logits, kernels.softmax(logits))


def test_a_counterexample_replays():
    report = softcheck.check(kernels.one_item_off, domain=SMALL)
    again = softcheck.check(kernels.one_item_off, replay=report.counterexample.replay)
    assert again.verdict == "fail" and again.data["calls"] < 10
    assert softcheck.check(kernels.softmax, replay=report.counterexample.replay).verdict == "pass"
    assert "softcheck.check(one_item_off, op='softmax', dtype='f32', domain='n>=1 n<=129 rows<=9 theta=1 nomask', replay='" in report.text


def test_an_exempt_claim_is_noted():
    report = softcheck.check(kernels.ignores_nan, exempt=["kernel.nan_row", "kernel.infinite_row", "kernel.masked_row"], domain=SMALL)
    assert report.verdict == "pass", str(report)


def test_few_calls_reach_every_property():
    calls = 0

    def counted(x):
        nonlocal calls
        calls += 1
        return kernels.softmax(x)

    report = softcheck.check(counted, max_calls=100, isolation="none")
    assert report.verdict == "pass", str(report)
    assert 50 <= calls <= 100
    assert "all but 2 of 100 cases: max_calls=100; and " in str(report)
    assert "EveryWidthIsComputed, all but" in "\n".join(report.data["claims"][-1]["not_tried"])
    assert softcheck.check(kernels.one_item_off, max_calls=100).verdict == "fail"


def test_a_budget_ends_it():
    report = softcheck.check(kernels.softmax, effort="deep", budget=1)
    assert report.verdict == "undecided" and "budget" in report.data["ended_early"]


def test_an_interrupt_ends_it_with_what_is_known():
    code = (
        "import kernels, softcheck; report = softcheck.check(kernels.softmax, effort='deep', progress=True); "
        "print(report.verdict, report.data['calls'] > 0, report.data['interrupted'])"
    )
    words = {"cwd": pathlib.Path(__file__).parent, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **words) as process:
        shown = b""
        while b"\x1b[K9 of " not in shown:  # by then calls have come back
            some = process.stderr.read1()
            assert some, shown
            shown += some
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=280)
    assert rest.split() == [b"undecided", b"True", b"True"] and process.returncode == 0


def test_infer_finds_a_contract():
    report = softcheck.infer(kernels.softmax, domain=SMALL)
    assert report.verdict == "pass" and "acc=f32" in report.contract, str(report)
    assert report.grade == "own arithmetic" and report.summary.startswith("pass, as f32's own arithmetic allows: ")


def test_a_plug_in_is_judged_by_its_name():
    folder = os.environ.get("SOFTCHECK_KERNELS")
    if not folder:
        pytest.skip("SOFTCHECK_KERNELS names no folder of plug-ins")
    good = softcheck.check(f"{folder}/libsoftcheck_cpu_kernels.so:softcheck_softmax", contract="sum=blocks:32 subnormal=kept", domain=SMALL)
    assert good.verdict == "pass", str(good)
    assert softcheck.check(f"{folder}/libsoftcheck_zoo.so:mutant_no_max_shift", domain=SMALL).verdict == "fail"


def test_a_notebook_shows_no_markup_of_a_function_s():
    def crashes(x):
        raise ValueError("<script>alert(1)</script>")

    shown = softcheck.check(crashes, domain=SMALL, cases=2)._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown.split("<svg")[0]


def test_reports(tmp_path):
    report = softcheck.check(kernels.unshifted, domain=SMALL)
    with pytest.raises(softcheck.Violation) as violation:
        report.raise_for_verdict()
    assert "does not hold" in str(violation.value)
    assert "<svg" in report._repr_html_() and "fail" in report._repr_html_()
    shown = report._repr_html_().split("<svg")[0]  # above the picture: the verdict, and the failing row
    assert html.escape(report.summary) in shown and all(html.escape(line) in shown for line in report.findings[0].details)
    assert any("got " in line for line in report.findings[0].details)
    good = softcheck.check(kernels.softmax, domain=SMALL).raise_for_verdict()
    assert "<pre>" not in good._repr_html_().split("<details>")[0]
    good.to_junit(tmp_path / "softcheck.xml")
    cases = {case.get("name"): case for case in ElementTree.parse(tmp_path / "softcheck.xml").iter("testcase")}
    assert set(cases) == {claim.claim for claim in good.claims}
    numbers = {p.get("name"): float(p.get("value")) for p in cases["kernel.softmax.element"].iter("property")}
    assert numbers["slack"] == good.slack["kernel.softmax.element"]
    assert abs(numbers["bias_ulps"]) < numbers["worst_ulps"] <= numbers["worst_allowed_ulps"]


def test_the_version_is_the_library_s():
    text = pathlib.Path(__file__).parents[2].joinpath("pyproject.toml").read_text()
    assert f'version = "{softcheck.__version__}"' in text


def test_a_thread_that_waits_for_the_interpreter_does_not_stop_the_fork():
    stop, interval = threading.Event(), sys.getswitchinterval()

    def busy():
        while not stop.is_set():
            pass

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        sys.setswitchinterval(1e-6)  # so that it asks for the interpreter long before the fork
        for _ in range(5):
            report = softcheck.check(kernels.softmax, domain="n<=9 rows<=2", cases=2, time_limit=30)
            assert report.verdict not in ("timeout", "crash"), str(report)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


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


def test_a_slack_of_nothing_has_no_sign():
    report = softcheck.report.report_of(
        {"verdict": "pass", "summary": "", "text": "", "claims": [{"claim": "c", "verdict": "pass", "cases": 1, "slack": -0.0}]}
    )
    assert repr(report.slack["c"]) == "0.0"


def row_stride_ignored(x):
    """Reads its rows as if they stood side by side."""
    return kernels.softmax(np.lib.stride_tricks.as_strided(x, x.shape, (x.shape[1] * x.itemsize, x.itemsize)))


def test_views_with_strides_are_tried():
    report = softcheck.check(row_stride_ignored, domain=f"{SMALL} contiguous")
    assert report.verdict == "fail", str(report)
    assert softcheck.check(kernels.softmax, domain=SMALL).verdict == "pass"


def test_a_function_of_contiguous_arrays_is_judged_without_strides():
    def softmax(x):
        assert x.flags.c_contiguous
        return row_stride_ignored(x)

    report = softcheck.check(softmax, domain=SMALL, strides=False)
    assert report.verdict == "pass", str(report)


@pytest.mark.parametrize("dtype", kernels.DTYPES)
def test_every_dtype_is_checked_inferred_judged_at_hand_and_replayed(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")

    def softmax(x, mask):
        with np.errstate(all="ignore"):
            return kernels.softmax_at(x.astype(np.float64), 1.0, mask).astype(x.dtype)

    def first_half(x, mask):
        values = softmax(x, mask)
        values[..., values.shape[-1] // 2 :] = 0
        return values

    asked = {"dtype": dtype, "isolation": "none", "domain": SMALL}
    report = softcheck.check(softmax, max_calls=60, **asked)
    assert report.verdict == "pass", str(report)
    report = softcheck.infer(softmax, **asked)
    assert report.verdict == "pass", str(report)

    x = np.linspace(-3, 3, 42).reshape(3, 14).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
    assert softcheck.assert_output("softmax", x, softmax(x, None))
    with pytest.raises(AssertionError):
        softcheck.assert_output("softmax", x, first_half(x, None))

    replay = softcheck.check(first_half, max_calls=60, **asked).counterexample.replay
    assert softcheck.check(first_half, replay=replay, **asked).verdict == "fail"
    assert softcheck.check(softmax, replay=replay, **asked).verdict == "pass"

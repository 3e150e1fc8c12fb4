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


def test_a_domain_may_be_given_word_by_word():
    report = softcheck.check(kernels.softmax, domain=["n<=8", "rows<=2"], cases=2)
    assert report.verdict == "pass" and "n<=8 rows<=2" in report.text


def test_a_report_says_what_no_isolation_leaves_to_the_program():
    said = "a crash, a hang or a stray write of the function ends or harms this program itself"
    report = softcheck.check(kernels.softmax, isolation="none", **TINY)
    assert f"isolation: none: called in the judge's own process: {said}\n" in report.text
    assert report.data["isolation"].endswith(said)
    assert said not in softcheck.check(kernels.softmax, **TINY).text


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
    third = _library.Options.fixed_mask.offset  # the third, without a fixed mask
    assert all("device" in status(size)[1] for size in (second, third, whole))
    assert status(first) == (_library.USAGE, "kernel: no such file: none.so")
    for size in (0, first - 8, first + 8, whole - 4, whole + 8):
        assert status(size)[1].endswith(f"{first}, {second}, {third} or {whole} in this version, got {size}")


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

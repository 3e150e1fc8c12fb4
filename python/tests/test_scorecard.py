"""scorecard: verdicts and errors of several judgements in one table."""

import dataclasses

import kernels
import numpy as np
import pytest
import softcheck

TINY = {"domain": "n<=9 rows<=3", "cases": 3}


def test_a_card_has_a_row_for_each_op_function_and_dtype():
    card = softcheck.scorecard(
        {"softmax": [kernels.softmax, kernels.unshifted], "logsumexp": kernels.logsumexp}, dtypes=["float32", "float64"], **TINY
    )
    assert [(score.op, score.function, score.dtype, score.report.verdict) for score in card] == [
        ("softmax", "softmax", "f32", "pass"),
        ("softmax", "softmax", "f64", "pass"),
        ("softmax", "unshifted", "f32", "fail"),
        ("softmax", "unshifted", "f64", "fail"),
        ("logsumexp", "logsumexp", "f32", "pass"),
        ("logsumexp", "logsumexp", "f64", "pass"),
    ]
    assert not card and softcheck.scorecard(kernels.softmax, **TINY)
    for score in card:
        worst = [row["errors"]["worst_ulps"] for row in score.report.data["claims"] if row.get("errors")]
        assert len(worst) == (2 if score.op == "softmax" else 1) and score.worst_ulps == max(map(float, worst))
        if score.report:
            assert abs(score.bias_ulps) <= score.worst_ulps <= score.allowed_ulps and score.seconds > 0
    table = str(card)
    lines = table.splitlines()
    assert lines[0].split() == ["op", "dtype", "function", "verdict", "worst", "ulp", "allowed", "bias", "ulp", "slack", "calls", "seconds"]
    for line, score in zip(lines[1:], card):
        cells = line.split()
        assert cells[:4] == [score.op, score.dtype, score.function, score.report.verdict] and len(cells) == 10
        assert cells[4] == f"{score.worst_ulps:.4g}" and cells[8] == str(score.report.data["calls"])
    shown = card._repr_html_()
    assert shown.count("<tr>") == 7 and shown.count("#cf222e") == 2 and "<td>logsumexp</td>" in shown


def test_a_crash_has_no_errors_and_markup_is_escaped():
    def crashes(x):
        raise ValueError

    [score] = card = softcheck.scorecard([crashes], **TINY)
    assert score.report.verdict == "crash" and score.worst_ulps != score.worst_ulps
    assert " - " in str(card) and "nan" not in str(card)
    two = [{"errors": {"values": 1, "worst_ulps": w, "worst_allowed_ulps": 4, "bias_ulps": b}} for w, b in ((1, 1), ("Infinity", 0.5))]
    off = softcheck.Score("softmax", "f32", "f", dataclasses.replace(score.report, data={"claims": [*two, {}]}), 1.0)
    assert (off.worst_ulps, off.bias_ulps) == (float("inf"), 0.5)
    shown = softcheck.ScoreCard([softcheck.Score("softmax", "f32", "<b>", score.report, 1.0)])._repr_html_()
    assert "<b>" not in shown and "&lt;b&gt;" in shown


def test_a_function_whose_values_are_nan_has_no_finite_slack():
    def overflows(x):
        with np.errstate(all="ignore"):
            return kernels.unshifted(x)

    for dtype in ("float32", "float16"):
        [score] = softcheck.scorecard(overflows, dtypes=dtype, max_calls=300)
        [line] = [line.split() for line in score.report.text.splitlines() if line.startswith("  kernel.softmax.element")]
        assert line[2] == score.cells[7] == "inf", str(score.report)
    [score] = softcheck.scorecard(kernels.softmax, **TINY)
    assert score.slack == max(score.report.slack.values())


def test_a_call_that_the_report_shows_is_counted():
    [score] = softcheck.scorecard(kernels.softmax, **TINY)
    line = "  error    250.9ulp(f16), 4 times the threshold of [0.00013164185, 0.00013164186]"
    claim = softcheck.Claim("kernel.softmax.element", "fail", 1, float("nan"), ("Kernel.P fails on 2 logits", line))
    data = {"claims": [{"errors": {"values": 1, "worst_ulps": 5.4, "worst_allowed_ulps": 6, "bias_ulps": 0.5}}]}
    off = dataclasses.replace(score, report=dataclasses.replace(score.report, claims=(claim,), data=data))
    assert (off.worst_ulps, off.allowed_ulps, off.bias_ulps, off.slack) == (250.9, 250.9 / 4, 0.5, float("inf"))


def test_functions_of_one_name_are_numbered():
    card = softcheck.scorecard([lambda x: kernels.softmax(x), kernels.softmax, lambda x: kernels.softmax(x)], **TINY)
    assert [score.function for score in card] == ["your_function (1)", "softmax", "your_function (2)"]
    card = softcheck.scorecard({"softmax": kernels.softmax, "log_softmax": [kernels.softmax]}, **TINY)
    assert [score.function for score in card] == ["softmax", "softmax"]


def test_what_is_no_function_is_said():
    with pytest.raises(softcheck.UsageError, match="^scorecard: need dtypes=, one dtype or a list, got dtype=$"):
        softcheck.scorecard(kernels.softmax, dtype="float64")
    with pytest.raises(softcheck.UsageError, match="^scorecard: need at least one function and one dtype, got 0 and 1$"):
        softcheck.scorecard([])
    with pytest.raises(softcheck.UsageError, match="^functions: need functions, a list of them or a dictionary of both by op, got 5$"):
        softcheck.scorecard(5)

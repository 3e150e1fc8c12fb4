"""scorecard: verdicts and errors of several judgements in one table."""

import dataclasses

import kernels
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


def test_what_is_no_function_is_said():
    with pytest.raises(softcheck.UsageError, match="^functions: need functions, a list of them or a dictionary of both by op, got 5$"):
        softcheck.scorecard(5)

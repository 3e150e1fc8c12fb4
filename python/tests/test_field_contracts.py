"""Which contracts the field's judgements try."""

import re
import time

import numpy as np
import pytest
from fake import library

import softcheck
from softcheck import _library
from softcheck.field import judge, report
from softcheck.field.kernel import Kernel

# Seconds for one pair: no load of a machine makes a judgement of few items take them.
PLENTY = 600
SMALL = "n<=33 rows<=3"
FEW = {"domain": f"n>=1 rows>=1 {SMALL}"}


def slow_softmax(x):
    time.sleep(0.02)
    return library.softmax(x)


def test_a_judgement_without_a_budget_ends_at_the_moment_that_is_told():
    """As the second time that a field's pair is asked, which has no budget in parts."""
    start = time.monotonic()
    with _library.ending_at(start + 1):
        report = softcheck.check(slow_softmax, "softmax", "float64", isolation="none", progress=False)
    assert report.verdict == "undecided" and report.data["ended_early"] and "interrupted" not in report.data
    assert time.monotonic() >= start + 1


@pytest.fixture
def inference_fits_none(monkeypatch):
    unfit = softcheck.Report("fail", "", "masked=nan", (), None, {"contract": None})
    monkeypatch.setattr(softcheck, "infer", lambda *_, **__: unfit)


def softmax_of_stored_exponentials(x):
    """As torch's along an axis that is not the last."""
    wide = x.astype(np.float32)
    with np.errstate(all="ignore"):
        e = np.exp(wide - wide.max(axis=-1, keepdims=True)).astype(np.float16).astype(np.float32)
        return (e / e.sum(axis=-1, keepdims=True)).astype(np.float16)


def test_flushed_does_not_excuse_exponentials_in_float16(inference_fits_none):
    """It grants 2^-14 to a result of 0 alone, which is as much as half a unit of 0.1: weights= says what such a kernel does."""
    stored = Kernel("stored", "softmax", "float16", softmax_of_stored_exponentials, "", arguments=FEW)
    found = judge.judge(stored, "none", PLENTY)
    assert found["verdict"] == "pass" and found["weak"] == ["weights=f16"], found["summary"]
    assert "flushed" not in found["contract"]


def test_a_wider_contract_is_tried_where_a_documented_one_is_broken():
    given = {"contract": "acc=f32 exp=4ulp sum=sequential subnormal=flushed masked=nan", "arguments": FEW}
    found = judge.judge(Kernel("stored", "softmax", "float16", softmax_of_stored_exponentials, "", **given), "none", PLENTY)
    assert found["verdict"] == "pass" and found["weak"] == ["weights=f16"], found["summary"]
    assert [(f["claim"], f["contract"].split()[0]) for f in found["findings"]] == [("kernel.softmax.element", "acc=f32")]


def topk_of_flushed_softmax(logits, k):
    """Of float16 logits, in float32, which is 0 below its smallest normal number: as that of XLA on the CPU."""
    y = library.softmax(logits.astype(np.float32)).astype(np.float32)
    y = np.where(y < np.finfo(np.float32).tiny, np.float32(0), y)
    ids = np.argsort(-logits.astype(np.float32), axis=-1, kind="stable")[:, :k]
    return np.take_along_axis(y, ids, -1), ids.astype(np.int64)


def test_weights_of_float32_are_not_said_to_be_stored_in_float16(inference_fits_none):
    router = {"domain": "n=3|17 rows=1|3 k=2 finite"}
    found = judge.judge(Kernel("router", "topk_softmax", "float16", topk_of_flushed_softmax, "", arguments=router), "none", PLENTY)
    assert found["verdict"] == "pass" and found["weak"] == [], found["text"]
    assert "weights=" not in found["contract"] and "flushed" in found["contract"]


def softmax_of_visible(x, mask):
    """0 where everything is hidden, NaN where everything is -inf: no word of a contract is for that."""
    seen = np.ones(x.shape, bool) if mask is None else mask
    y = library.softmax(np.where(seen, x, np.float32(-np.inf)))
    return np.where(seen.any(axis=-1, keepdims=True), y, np.float32(0)).astype(np.float32)


def softmax_or_zero(x, mask):
    nothing = np.isneginf(x if mask is None else np.where(mask, x, np.float32(-np.inf))).all(axis=-1, keepdims=True)
    return np.where(nothing, np.float32(0), softmax_of_visible(x, mask))


@pytest.mark.parametrize("function, word, exempt", [(softmax_or_zero, "masked=zero", []), (softmax_of_visible, "masked=", ["kernel.masked_row"])])
def test_a_masked_row_that_inference_did_not_ask_is_tried(function, word, exempt, inference_fits_none):
    found = judge.judge(Kernel("visible", "softmax", "float32", function, "", arguments=FEW), "none", PLENTY)
    assert found["verdict"] == "pass" and word in found["contract"] and found["exempt"] == exempt, found["text"]
    assert [f["claim"] for f in found["findings"]] == exempt


def attention_of_equal_stored_weights(q, k, v, mask, scale):
    """As JAX's in float16, where a query that sees no key weighs all of them alike; the other weights are not stored here."""
    keys, values = (np.repeat(a.astype(np.float32), q.shape[1] // a.shape[1], axis=1) for a in (k, v))
    scores = q.astype(np.float32) @ keys.swapaxes(-1, -2) * np.float32(scale)
    seen = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask, scores.shape)
    scores = np.where(seen, scores, np.float32(-1e30))
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    weights = np.where(seen.any(axis=-1, keepdims=True), weights, weights.astype(np.float16).astype(np.float32))
    return (weights @ values).astype(np.float16)


def test_equal_weights_that_are_stored_in_16_bits_are_those_of_a_masked_row(monkeypatch):
    unfit = softcheck.Report("fail", "", "", (), None, {"contract": None})
    monkeypatch.setattr(softcheck, "infer", lambda *_, **__: unfit)
    small = {"domain": "finite batch=1 heads=1|2 group=1 keys=1|5|17 queries=1|5 dim=1|16 values=1|5", "cases": 20}
    found = judge.judge(Kernel("stored", "attention", "float16", attention_of_equal_stored_weights, "", arguments=small), "none", PLENTY)
    assert found["verdict"] == "pass" and found["weak"] == ["weights=f16"], found["text"]
    assert "masked=uniform" in found["contract"] and found["exempt"] == []


def entropy_in_16_bits(x):
    """As torch's Categorical(logits): each step rounds to the format of the results."""
    m = x.max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        log_p = x - (np.log(np.exp(x - m).sum(axis=-1, keepdims=True, dtype=np.float16)) + m)
        return -(np.exp(log_p) * np.maximum(log_p, np.finfo(np.float16).min)).sum(axis=-1, dtype=np.float16)


def test_an_entropy_that_rounds_each_step_to_16_bits_has_a_contract(inference_fits_none):
    steps = {"domain": "n=2|17 rows=1|3 finite", "out_dtype": "f16"}
    found = judge.judge(Kernel("steps", "entropy", "float16", entropy_in_16_bits, "", arguments=steps), "none", PLENTY)
    assert found["verdict"] == "pass" and found["weak"] == ["acc=f16"], found["text"]
    assert "sum=tree" in found["contract"] and "entropy_from=logits" in found["contract"]


def attention_of_a_stored_scale(q, k, v, scale):
    """As MLX's on the CPU."""
    keys, values = (np.repeat(a.astype(np.float32), q.shape[1] // a.shape[1], axis=1) for a in (k, v))
    scores = ((q * np.float16(scale)).astype(np.float32) @ keys.swapaxes(-1, -2)).astype(np.float16).astype(np.float32)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return ((e / e.sum(axis=-1, keepdims=True)).astype(np.float16).astype(np.float32) @ values).astype(np.float16)


def test_a_query_that_is_stored_with_its_scale_has_a_contract(inference_fits_none):
    domain = {"domain": "finite nomask batch>=1 heads>=1 keys>=1 queries>=1 dim>=1 values>=1"}
    found = judge.judge(Kernel("stored", "attention", "float16", attention_of_a_stored_scale, "", arguments=domain), "none", PLENTY)
    assert found["verdict"] == "pass" and set(found["weak"]) == {"scale=stored", "scores=f16", "weights=f16"}, found["text"]


@pytest.mark.parametrize("dtype, asked", [("bfloat16", True), ("float16", False)])
def test_an_arithmetic_that_flushes_is_asked_of_bfloat16_alone(dtype, asked, monkeypatch):
    contracts = []

    def check(function, op, dtype, *, contract=None, **arguments):
        contracts.append(contract or "")
        return softcheck.Report("fail", "", "masked=nan", (), None, {"contract": None})

    monkeypatch.setattr(softcheck, "infer", check)
    monkeypatch.setattr(softcheck, "check", check)
    judge.judge(Kernel("unfit", "softmax", dtype, library.softmax, ""), "none", 60)
    assert any(re.match("acc=b?f16 .* subnormal=flushed", contract) for contract in contracts) == asked, contracts

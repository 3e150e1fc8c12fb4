"""Routers of mixtures of experts: functions to the k largest coefficients of a softmax and their ids."""

import numpy as np
import pytest
import softcheck
from kernels import softmax

QUICK = {"effort": "quick", "cases": 20, "max_length": 600, "progress": False,
         "contract": "acc=f32 exp=2ulp sum=sequential masked=nan"}  # fmt: skip


def wide(logits):
    return logits.astype(np.float64 if logits.dtype == np.float64 else np.float32)


def topk(logits, k, renormalize):
    p = softmax(wide(logits))
    ids = np.argsort(-p, axis=-1, kind="stable")[:, :k]
    weights = np.take_along_axis(p, ids, axis=-1)
    if renormalize and k > 0:
        weights = weights / weights.sum(axis=-1, keepdims=True, dtype=p.dtype)
    return weights, ids.astype(np.int32)


def plain(logits, k):
    return topk(logits, k, False)


def two_experts(logits):
    return topk(logits, 2, True)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_right_router_passes(dtype):
    report = softcheck.check(topk, "topk_softmax", dtype, **QUICK)
    assert report.verdict == "pass", report


def test_a_function_has_the_attributes_that_it_takes():
    assert softcheck.check(plain, "topk_softmax", **QUICK).verdict == "pass"
    assert softcheck.check(two_experts, "topk_softmax", domain="k=2 renormalize=1", **QUICK).verdict == "pass"
    assert softcheck.check(two_experts, "topk_softmax", domain="k=2", **QUICK).verdict == "fail"
    with pytest.raises(softcheck.UsageError, match="k=2"):
        softcheck.check(two_experts, "topk_softmax", **QUICK)


def test_ids_of_int64_are_ids():
    def long_ids(logits, k, renormalize):
        weights, ids = topk(logits, k, renormalize)
        return weights, ids.astype(np.int64)

    assert softcheck.check(long_ids, "topk_softmax", **QUICK).verdict == "pass"


def test_weights_in_bf16_are_found():
    def rounded(logits, k, renormalize):
        weights, ids = topk(logits, k, renormalize)
        with np.errstate(all="ignore"):
            bits = weights.astype(np.float32).view(np.uint32)
            return ((bits + 0x8000) & 0xFFFF0000).astype(np.uint32).view(np.float32), ids

    report = softcheck.check(rounded, "topk_softmax", domain="finite", **QUICK)
    assert report.verdict == "fail"


def test_an_id_twice_is_found():
    def twice(logits, k, renormalize):
        weights, ids = topk(logits, k, renormalize)
        if k > 1:
            ids[:, 1] = ids[:, 0]
        return weights, ids

    report = softcheck.check(twice, "topk_softmax", **QUICK)
    assert report.verdict == "fail"
    assert "kernel.topk_softmax.ids" in str(report)


def test_ties_are_as_the_contract_says():
    def highest_first(logits, k, renormalize):
        weights, ids = topk(logits[:, ::-1], k, renormalize)
        return weights, (logits.shape[1] - 1 - ids).astype(np.int32)

    words = {**QUICK, "contract": QUICK["contract"] + " ties=lowest"}
    assert softcheck.check(topk, "topk_softmax", **words).verdict == "pass"
    assert softcheck.check(highest_first, "topk_softmax", **QUICK).verdict == "pass"
    assert softcheck.check(highest_first, "topk_softmax", **words).verdict == "fail"


LOGITS = np.random.default_rng(4).normal(size=(2, 3, 9)).astype(np.float32)


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("ids_of", [np.int32, np.int64])
def test_choices_at_hand_are_judged(renormalize, ids_of):
    weights, ids = (x.reshape(2, 3, 4) for x in topk(LOGITS.reshape(6, 9), 4, renormalize))
    ids = ids.astype(ids_of)
    words = {"renormalize": renormalize, "contract": "exp=2ulp sum=sequential"}
    assert softcheck.assert_output("topk_softmax", LOGITS, (weights, ids), **words).data["judged"] == 6
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("topk_softmax", LOGITS, (weights, ids), **{**words, "renormalize": not renormalize})
    # Two ids exchanged, though their logits are no tie.
    ids[1, 2, [0, 3]] = ids[1, 2, [3, 0]]
    with pytest.raises(softcheck.Violation) as violation:
        softcheck.assert_output("topk_softmax", LOGITS, (weights, ids), **words)
    assert violation.value.report.data["failed"] == 1
    assert violation.value.report.data["worst"][0]["index"] == [1, 2]
    assert violation.value.report.data["worst"][0]["of"] in ("weights", "ids")


def test_the_exact_choice_and_what_is_granted():
    weights, ids = (x.reshape(2, 3, 4) for x in topk(LOGITS.reshape(6, 9), 4, False))
    lower, upper = softcheck.reference("topk_softmax", LOGITS, k=4)
    allowed = softcheck.threshold("topk_softmax", LOGITS, k=4, contract="exp=2ulp")
    assert (np.abs(weights - lower) <= allowed).all() and (allowed < lower / 1000).all() and (lower <= upper).all()
    lower, upper = softcheck.reference("topk_softmax", LOGITS, k=4, which=1)
    assert (lower == ids).all() and (upper == ids).all()
    assert np.isnan(softcheck.threshold("topk_softmax", LOGITS, k=4, which=1)).all()


def test_what_does_not_fit_is_refused_in_one_line():
    weights, ids = topk(LOGITS[0], 4, False)
    with pytest.raises(softcheck.UsageError, match="outputs: need weights, ids, got 0 tensors|k: need how many items"):
        softcheck.assert_output("topk_softmax", LOGITS[0], ())
    with pytest.raises(softcheck.UsageError, match="ids: need int32 or int64, got f32"):
        softcheck.assert_output("topk_softmax", LOGITS[0], (weights, weights))
    with pytest.raises(softcheck.UsageError, match=r"weights: need shape \(3, 2\), got \(3, 4\)"):
        softcheck.assert_output("topk_softmax", LOGITS[0], (weights, ids), k=2)
    with pytest.raises(softcheck.UsageError, match="k: need how many items"):
        softcheck.reference("topk_softmax", LOGITS)
    with pytest.raises(softcheck.UsageError, match="k: need a number of items from 1 to 9, got 12"):
        softcheck.reference("topk_softmax", LOGITS, k=12)

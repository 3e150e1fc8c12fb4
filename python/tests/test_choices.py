"""Routers of mixtures of experts: functions to the k largest coefficients of a softmax and their ids.
Samplers of tokens: functions to the softmax of the items that top-p and min-p keep.
Projections of a row on the simplex at hand."""

import numpy as np
import pytest
import softcheck
from kernels import softmax
from softcheck import _abi


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


def kept_of(p, top_p, min_p):
    order = np.argsort(-p, axis=-1, kind="stable")
    ordered = np.take_along_axis(p, order, axis=-1)
    kept = np.ones(p.shape, bool)
    if top_p != 0:
        before = np.cumsum(ordered, axis=-1, dtype=p.dtype) - ordered
        inside = before < top_p
        inside[:, :1] = True
        np.put_along_axis(kept, order, inside, axis=-1)
    if min_p != 0 and p.shape[-1] > 0:
        kept &= p >= p.dtype.type(min_p) * p.max(axis=-1, keepdims=True)
    return kept


def sampled(logits, top_p=0.0, min_p=0.0):
    x = logits.astype(np.float32)
    p = softmax(x)
    with np.errstate(all="ignore"):
        kept = np.where(kept_of(p, top_p, min_p) | np.isnan(p), p, np.float32(0))
        return (kept / kept.sum(axis=-1, keepdims=True, dtype=p.dtype)).astype(logits.dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_right_sampler_passes(dtype):
    report = softcheck.check(sampled, "top_p_softmax", dtype, **QUICK)
    assert report.verdict == "pass", report


def test_a_function_has_the_filters_that_it_takes():
    def nucleus(logits, top_p):
        return sampled(logits, top_p)

    def at_temperature(logits, theta, min_p):
        with np.errstate(over="ignore"):
            return sampled(logits / logits.dtype.type(theta), min_p=min_p)

    assert softcheck.check(nucleus, "top_p_softmax", **QUICK).verdict == "pass"
    words = {**QUICK, "contract": QUICK["contract"] + " theta=before"}
    assert softcheck.check(at_temperature, "top_p_softmax", **words).verdict == "pass"
    assert softcheck.check(lambda logits: softmax(logits), "top_p_softmax", **QUICK).verdict == "pass"
    with pytest.raises(softcheck.UsageError, match="top_p"):
        softcheck.check(lambda logits: softmax(logits), "top_p_softmax", takes=["k"], **QUICK)


def test_samples_at_hand_are_judged():
    logits = np.log(np.array([[8, 4, 2, 2], [1, 8, 4, 3]], np.float32))
    got = sampled(logits, top_p=0.6)
    softcheck.assert_output("top_p_softmax", logits, got, top_p=0.6)
    lower, upper = softcheck.reference("top_p_softmax", logits, top_p=0.6)
    assert ((lower > 0) == [[True, True, False, False], [False, True, True, False]]).all()
    assert np.allclose(upper[0, 0], 2 / 3)
    with pytest.raises(softcheck.Violation, match="kernel.top_p_softmax.kept"):
        softcheck.assert_output("top_p_softmax", logits, softmax(logits), top_p=0.6)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("top_p_softmax", logits, got, min_p=0.3)
    with pytest.raises(softcheck.UsageError, match=r"top_p: need a number in \(0, 1\]"):
        softcheck.assert_output("top_p_softmax", logits, got, top_p=1.5)
    with pytest.raises(softcheck.UsageError, match="top_p: softmax has none"):
        softcheck.assert_output("softmax", logits, got, top_p=0.5)


def test_projections_at_hand_are_judged():
    logits, right = np.array([[[0.5, 0, -0.25, -4]], [[0.75, 0.25, 0, 0]]], np.float32)
    assert softcheck.assert_output("sparsemax", logits, right)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("sparsemax", logits, right + np.float32(1e-3))


def filtered(logits, k=0, top_p=0.0, min_p=0.0, renormalize=False, theta=1.0):
    """Each number may be an array of one for each row."""
    x = logits.astype(np.float32)
    with np.errstate(all="ignore"):
        x = x / np.broadcast_to(np.asarray(theta, np.float32), x.shape[:1])[:, None]
        p = softmax(x)
        out = np.zeros_like(p)
        for i, row in enumerate(p):
            own = [np.broadcast_to(number, p.shape[:1])[i] for number in (k, top_p, min_p)]
            order = np.argsort(-row, kind="stable")
            first = order[: int(own[0]) or None]
            due = own[1] * (row[first].sum(dtype=p.dtype) if renormalize else p.dtype.type(1))
            ordered = row[order]
            before = np.cumsum(ordered, dtype=p.dtype) - ordered
            kept = (before < due) | (own[1] == 0)
            kept[:1] = True
            kept[len(first) :] = False
            kept &= ordered >= p.dtype.type(own[2]) * ordered[:1].max(initial=0)
            out[i, order] = np.where(kept | np.isnan(ordered), ordered, np.float32(0))
        return (out / out.sum(axis=-1, keepdims=True, dtype=p.dtype)).astype(logits.dtype)


def test_a_sampler_has_k_and_numbers_of_rows():
    words = {**QUICK, "contract": QUICK["contract"] + " theta=before"}
    assert softcheck.check(filtered, "top_p_softmax", domain="per_row", **words).verdict == "pass"

    def joint(logits, k, top_p):
        return filtered(logits, k, top_p)

    assert softcheck.check(joint, "top_p_softmax", **QUICK).verdict == "pass"
    report = softcheck.check(joint, "top_p_softmax", domain="renormalize=1", **QUICK)
    assert report.verdict == "fail" and "kernel.top_p_softmax.kept" in str(report)


def test_filters_at_hand_may_be_of_rows():
    logits = np.log(np.array([[8, 4, 2, 2], [1, 8, 4, 3]], np.float32))
    one = {"k": 2, "top_p": 0.6, "renormalize": True}
    softcheck.assert_output("top_p_softmax", logits, filtered(logits, **one), **one)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("top_p_softmax", logits, filtered(logits, **one), **{**one, "renormalize": False})
    rows = {"k": np.array([3, 2]), "top_p": np.array([0.6, 0.9], np.float32), "theta": np.array([1, 0.5], np.float32)}
    got = filtered(logits, **rows)
    softcheck.assert_output("top_p_softmax", logits, got, **rows)
    lower, _ = softcheck.reference("top_p_softmax", logits, **rows)
    assert ((lower > 0) == (got > 0)).all()
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("top_p_softmax", logits, got, **{**rows, "k": rows["k"][::-1].copy()})
    for name, wrong, need in (("k", [1, -1], "numbers of items"), ("top_p", [0.5, 2], "numbers in"), ("theta", [1, 0], "temperatures in")):
        kind = np.int32 if name == "k" else np.float32
        with pytest.raises(softcheck.UsageError, match=need):
            softcheck.assert_output("top_p_softmax", logits, got, **{**rows, name: np.array(wrong, kind)})
    for op, output in (("top_p_softmax", got), ("topk_softmax", (got, np.zeros(got.shape, np.int32)))):
        with pytest.raises(softcheck.UsageError, match="k: need a whole number from 0 to 2147483647"):
            softcheck.assert_output(op, logits, output, k=2**32 + 3)
    with pytest.raises(softcheck.UsageError, match=r"top_p: need shape \(2,\)"):
        softcheck.assert_output("top_p_softmax", logits, got, top_p=np.ones(3, np.float32))


def gate(logits, bias, k, groups, groups_kept, group_items, renormalize=True, scale=1.0, sigmoid=True, other=-np.inf):
    x = wide(logits)
    p = 1 / (1 + np.exp(-x)) if sigmoid else softmax(x)
    scores = p if bias is None else p + bias.astype(p.dtype)
    rows, n = scores.shape
    if groups:
        of_groups = np.sort(scores.reshape(rows, groups, n // groups), axis=-1)[..., -group_items:].sum(axis=-1)
        worst = np.argsort(-of_groups, axis=-1, kind="stable")[:, groups_kept:]
        scores = scores.copy().reshape(rows, groups, n // groups)
        np.put_along_axis(scores, worst[..., None], other, axis=1)
        scores = scores.reshape(rows, n)
    ids = np.argsort(-scores, axis=-1, kind="stable")[:, :k]
    weights = np.take_along_axis(p, ids, axis=-1)
    if renormalize and k > 0:
        weights = weights / (weights.sum(axis=-1, keepdims=True, dtype=p.dtype) + p.dtype.type(1e-20))
    return weights * p.dtype.type(scale), ids.astype(np.int32)


def router(logits, k, renormalize, sigmoid, bias, groups, groups_kept, group_items, routed_scale):
    return gate(logits, bias, k, groups, groups_kept, group_items, renormalize, routed_scale, sigmoid)


def v3(logits, bias, other=-np.inf):
    return gate(logits, bias, 4, 8, 4, 2, other=other)


def test_a_router_gets_what_it_takes():
    assert softcheck.check(router, "topk_softmax", **QUICK).verdict == "pass"
    own = {**QUICK, "domain": "scores=sigmoid renormalize=1 k=4 groups=8 kept=4 group_items=2"}
    assert softcheck.check(v3, "topk_softmax", **own).verdict == "pass"

    def zeros(logits, bias):  # of the masked groups: no smaller than a negative score
        return v3(logits, bias, 0)

    report = softcheck.check(zeros, "topk_softmax", **own)
    assert report.verdict == "fail" and "topk_softmax.ids" in str(report)
    with pytest.raises(softcheck.UsageError, match="kept=4"):
        softcheck.check(v3, "topk_softmax", domain="k=4 groups=8", **QUICK)
    with pytest.raises(softcheck.UsageError, match="topk_softmax"):
        softcheck.check(softmax, domain="groups=8 kept=4", **QUICK)
    with pytest.raises(softcheck.UsageError, match=r"no logits<= or spread<="):
        softcheck.check(router, "topk_softmax", domain="logits<=4", **QUICK)


def test_a_routers_results_at_hand_are_judged():
    logits, bias = LOGITS[0, :, :8], np.linspace(-2, -1, 8).astype(np.float32)
    words = {"bias": bias, "sigmoid": True, "groups": 4, "groups_kept": 2, "group_items": 2, "renormalize": True,
             "contract": "exp=2ulp sum=sequential"}  # fmt: skip
    result = gate(logits, bias, 2, 4, 2, 2, scale=2.5)
    assert softcheck.assert_output("topk_softmax", logits, result, routed_scale=2.5, **words)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("topk_softmax", logits, result, **words)
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("topk_softmax", logits, gate(logits, bias, 2, 4, 2, 2, other=0), **words)
    with pytest.raises(softcheck.UsageError, match="groups: need a divisor of 8 items"):
        softcheck.assert_output("topk_softmax", logits, result, **{**words, "groups": 3})
    with pytest.raises(softcheck.UsageError, match="sigmoid: softmax has none"):
        softcheck.assert_output("softmax", logits, logits, sigmoid=True)


def test_attributes_of_an_earlier_header_are_no_routers(monkeypatch):
    logits = LOGITS[0]
    weights, ids = topk(logits, 2, False)
    words = {"contract": "exp=2ulp sum=sequential"}
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output("topk_softmax", logits, (weights, ids), sigmoid=True, **words)
    made = _abi.TensorCall.__init__

    def earlier(self, *arguments):
        made(self, *arguments)
        self._attributes.size = _abi.Attributes.sigmoid.offset

    monkeypatch.setattr(_abi.TensorCall, "__init__", earlier)
    assert softcheck.assert_output("topk_softmax", logits, (weights, ids), sigmoid=True, **words)

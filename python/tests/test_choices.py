"""Routers of mixtures of experts: functions to the k largest coefficients of a softmax and their ids.
Samplers of tokens: functions to the softmax of the items that top-p and min-p keep.
Sparsemax and entmax of alpha = 1.5: functions to the projection of a row on the simplex, and results at hand."""

import kernels
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


def test_a_boundary_item_that_is_missing_is_found():
    def without_the_last(logits, top_p=0.0):
        p = softmax(logits)
        order = np.argsort(-p, axis=-1, kind="stable")
        inside = np.cumsum(np.take_along_axis(p, order, axis=-1), axis=-1, dtype=p.dtype) <= top_p
        inside[:, :1] = True
        kept = np.ones(p.shape, bool)
        if top_p != 0:
            np.put_along_axis(kept, order, inside, axis=-1)
        with np.errstate(all="ignore"):
            weights = np.where(kept | np.isnan(p), p, np.float32(0))
            return weights / weights.sum(axis=-1, keepdims=True, dtype=p.dtype)

    report = softcheck.check(without_the_last, "top_p_softmax", **QUICK)
    assert report.verdict == "fail"
    assert "kernel.top_p_softmax.kept" in str(report)


def test_min_p_of_one_is_not_min_p_of_the_largest():
    def of_one(logits, min_p=0.0):
        p = softmax(logits)
        kept = p >= min(min_p, float(p.max(initial=0)) if p.size else 0)
        with np.errstate(all="ignore"):
            weights = np.where(kept | np.isnan(p), p, np.float32(0))
            return weights / weights.sum(axis=-1, keepdims=True, dtype=p.dtype)

    report = softcheck.check(of_one, "top_p_softmax", domain="rows=1", **QUICK)
    assert report.verdict == "fail"
    assert "kernel.top_p_softmax.kept" in str(report)


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


PROJECTED = {"effort": "quick", "cases": 20, "max_length": 600, "progress": False, "contract": "acc=f32 sum=sequential masked=nan"}


def sparsemax(logits, total=np.cumsum):
    x = logits.astype(np.float64 if logits.dtype == np.float64 else np.float32)
    if x.shape[-1] == 0:
        return logits
    with np.errstate(all="ignore"):
        z = x - x.max(axis=-1, keepdims=True)
        ordered = -np.sort(-z, axis=-1)
        sums = total(ordered, axis=-1, dtype=z.dtype)
        k = np.arange(1, z.shape[-1] + 1, dtype=z.dtype)
        inside = np.logical_and.accumulate(1 + k * ordered > sums, axis=-1)
        count = inside.sum(axis=-1, keepdims=True)
        last = np.maximum(count - 1, 0)
        tau = (np.take_along_axis(sums, last, axis=-1) - 1) / (last + 1).astype(z.dtype)
        return np.maximum(z - tau, z.dtype.type(0)).astype(logits.dtype)


def entmax(logits, alpha_half=2):
    x = logits.astype(np.float64 if logits.dtype == np.float64 else np.float32)
    if x.shape[-1] == 0:
        return logits
    with np.errstate(all="ignore"):
        d = (x.max(axis=-1, keepdims=True) - x) / x.dtype.type(alpha_half)
        ordered = np.sort(d, axis=-1)
        k = np.arange(1, x.shape[-1] + 1, dtype=x.dtype)
        mean = np.cumsum(ordered, axis=-1, dtype=x.dtype) / k
        variance = np.cumsum(ordered * ordered, axis=-1, dtype=x.dtype) / k - mean * mean
        root = mean + np.sqrt(np.maximum((1 - k * variance) / k, x.dtype.type(0)))
        inside = np.logical_and.accumulate(ordered <= root, axis=-1)
        last = np.maximum(inside.sum(axis=-1, keepdims=True) - 1, 0)
        rest = np.maximum(np.take_along_axis(root, last, axis=-1) - d, x.dtype.type(0))
        return (rest * rest).astype(logits.dtype)


def sparsemax_of_sums_of_sums(logits):
    def twice(ordered, axis, dtype):
        return np.cumsum(np.cumsum(ordered, axis=axis, dtype=dtype), axis=axis, dtype=dtype)

    return sparsemax(logits, twice)


def entmax_of_logits_that_are_not_halved(logits):
    return entmax(logits, 1)


RIGHT = {"sparsemax": sparsemax, "entmax15": entmax}


@pytest.mark.parametrize("op", RIGHT)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_right_projection_passes(op, dtype):
    contract = PROJECTED["contract"].replace("f32", "f64") if dtype == "float64" else PROJECTED["contract"]
    report = softcheck.check(RIGHT[op], op, dtype, **{**PROJECTED, "contract": contract})
    assert report.verdict == "pass", report


@pytest.mark.parametrize(
    "op, wrong", [("sparsemax", sparsemax_of_sums_of_sums), ("entmax15", entmax_of_logits_that_are_not_halved)]
)
def test_a_wrong_projection_is_found(op, wrong):
    report = softcheck.check(wrong, op, **PROJECTED)
    assert report.verdict == "fail"
    assert f"kernel.{op}.element" in str(report)


def test_a_softmax_is_none():
    assert softcheck.check(kernels.softmax, "sparsemax", **PROJECTED).verdict == "fail"


def at_hand(op, logits):
    """The enclosure of a result that is right."""
    logits = np.array(logits, np.float32)
    softcheck.assert_output(op, logits, RIGHT[op](logits))
    with pytest.raises(softcheck.Violation):
        softcheck.assert_output(op, logits, RIGHT[op](logits) + np.float32(1e-3))
    return softcheck.reference(op, logits)


def test_projections_at_hand_are_judged():
    lower, upper = at_hand("sparsemax", [[0.5, 0, -0.25, -4], [1, 1, -3, -3]])
    assert (lower[0] == [0.75, 0.25, 0, 0]).all() and (upper[1] == [0.5, 0.5, 0, 0]).all()
    lower, upper = at_hand("entmax15", [[0, 0, 0, 0, -8], [0.25, 0, -1, -3, -9]])
    assert (lower[0] == [0.25, 0.25, 0.25, 0.25, 0]).all()
    assert abs(upper[1].sum() - 1) < 1e-12

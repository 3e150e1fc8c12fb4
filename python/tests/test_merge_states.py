"""Merges of partial attention results: functions of the parts' outputs and log-sum-exps."""

import numpy as np
import pytest
import softcheck

SMALL = "n<=17 rows<=17"
QUICK = {
    "effort": "quick",
    "cases": 20,
    "max_length": 64,
    "progress": False,
    "contract": "acc=f32 exp=2ulp sum=sequential masked=zero",
}


def merge(out, lse, base=np.e):
    wide = lse.dtype
    empty = np.isneginf(lse)
    if out.shape[0] == 0:
        return np.zeros(out.shape[1:], out.dtype), np.full(lse.shape[1:], -np.inf, wide)
    with np.errstate(all="ignore"):
        largest = lse.max(axis=0)
        none = np.isneginf(largest)
        distance = np.where(empty, 0, lse - np.where(none, 0, largest))
        weights = np.where(empty, 0, np.exp2(distance) if base == 2 else np.exp(distance)).astype(wide)
        total = weights.sum(axis=0, dtype=wide)
        products = weights[:, :, None] * np.where(empty[:, :, None], 0, out.astype(wide))
        merged = products.sum(axis=0, dtype=wide) / np.where(none, 1, total)[:, None]
        logarithm = np.log2(total) if base == 2 else np.log(total)
        return merged.astype(out.dtype), np.where(none, -np.inf, largest + logarithm).astype(wide)


def natural(out, lse):
    return merge(out, lse)


def binary(out, lse):
    return merge(out, lse, 2)


def either(out, lse, lse_base2):
    return merge(out, lse, 2 if lse_base2 else np.e)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_right_merge_passes_in_the_bases_that_it_takes(dtype):
    assert softcheck.check(natural, "merge_states", dtype, domain=SMALL, **QUICK).verdict == "pass"


def test_a_base_is_asked_for_where_the_function_takes_it():
    assert softcheck.check(either, "merge_states", domain=SMALL, **QUICK).verdict == "pass"
    assert softcheck.check(binary, "merge_states", domain=f"{SMALL} base=2", **QUICK).verdict == "pass"
    assert softcheck.check(binary, "merge_states", domain=SMALL, **QUICK).verdict == "fail"


def test_an_empty_part_that_is_read_is_found():
    def reads(out, lse):
        with np.errstate(all="ignore"):
            weights = np.exp(lse - lse.max(axis=0))
            total = weights.sum(axis=0)
            return (weights[:, :, None] * out).sum(axis=0) / total[:, None], lse.max(axis=0) + np.log(total)

    assert softcheck.check(reads, "merge_states", domain="n=1|17 rows<=17", **QUICK).verdict == "fail"


OUTS = np.random.default_rng(2).normal(size=(3, 5, 4)).astype(np.float32)
LSES = np.random.default_rng(3).normal(size=(3, 5)).astype(np.float32)


@pytest.mark.parametrize("base", [np.e, 2])
def test_merges_at_hand_are_judged_in_their_base(base):
    results = merge(OUTS, LSES, base)
    words = {"contract": "exp=2ulp sum=sequential masked=zero"}
    report = softcheck.assert_output("merge_states", (OUTS, LSES), results, lse_base2=base == 2, **words)
    assert report.data["judged"] == 5
    with pytest.raises(softcheck.Violation) as violation:
        softcheck.assert_output("merge_states", (OUTS, LSES), results, lse_base2=base != 2, **words)
    assert violation.value.report.data["failed"] == 5


def test_rows_at_hand_may_have_any_leading_dimensions():
    outs, lses = OUTS.reshape(3, 5, 1, 4), LSES.reshape(3, 5, 1)
    for which, result in enumerate(merge(OUTS, LSES)):
        lower, upper = softcheck.reference("merge_states", outs, lses, which=which)
        allowed = softcheck.threshold("merge_states", outs, lses, which=which, contract="exp=2ulp")
        assert lower.shape == ((5, 1, 4), (5, 1))[which]
        assert (np.abs(result.reshape(lower.shape) - lower) <= allowed).all() and (allowed < 1e-4).all()


def test_a_wrong_value_at_hand_is_named():
    out, lse = merge(OUTS, LSES)
    out[3, 2] += 0.01
    with pytest.raises(softcheck.Violation) as violation:
        softcheck.assert_output("merge_states", (OUTS, LSES), (out, lse), contract="exp=2ulp")
    worst = violation.value.report.data["worst"][0]
    assert (worst["of"], worst["index"], worst["item"]) == ("out", [3], 2)


def test_what_does_not_fit_is_refused_in_one_line():
    out, lse = merge(OUTS, LSES)
    with pytest.raises(softcheck.UsageError, match=r"out: need shape \(3, 5, 4\), got \(2, 5, 4\)"):
        softcheck.assert_output("merge_states", (OUTS[:2], LSES), (out, lse))
    with pytest.raises(softcheck.UsageError, match="outputs: need out, lse, got 1 tensors"):
        softcheck.assert_output("merge_states", (OUTS, LSES), out)
    with pytest.raises(softcheck.UsageError, match="lse_base2: softmax has none"):
        softcheck.assert_output("softmax", OUTS, OUTS, lse_base2=True)

"""Merges of partial attention results: functions of the parts' outputs and log-sum-exps."""

import numpy as np
import pytest
import softcheck

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
    assert softcheck.check(natural, "merge_states", dtype, **QUICK).verdict == "pass"


def test_a_base_is_asked_for_where_the_function_takes_it():
    assert softcheck.check(either, "merge_states", **QUICK).verdict == "pass"
    assert softcheck.check(binary, "merge_states", domain="base=2", **QUICK).verdict == "pass"
    assert softcheck.check(binary, "merge_states", **QUICK).verdict == "fail"


def test_an_empty_part_that_is_read_is_found():
    def reads(out, lse):
        with np.errstate(all="ignore"):
            weights = np.exp(lse - lse.max(axis=0))
            total = weights.sum(axis=0)
            return (weights[:, :, None] * out).sum(axis=0) / total[:, None], lse.max(axis=0) + np.log(total)

    assert softcheck.check(reads, "merge_states", domain="n>=1", **QUICK).verdict == "fail"


def test_results_at_hand_are_refused_in_one_line():
    states = np.ones((2, 3, 4), np.float32), np.zeros((2, 3), np.float32)
    with pytest.raises(softcheck.UsageError, match="merge_states"):
        softcheck.assert_output("merge_states", states, states)

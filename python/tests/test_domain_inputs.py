"""Domain words that say what a call's inputs hold: logits<=, spread<=, visible>=1, empty=zero."""

import numpy as np
import softcheck


def judged(function, domain, op="softmax", **words):
    return softcheck.check(function, op, domain=f"{domain} n<=40 rows<=9", isolation="none", **{"contract": "masked=zero", **words})


def range_of(x, theta):
    """The largest magnitude and spread of a row's finite logits, divided by theta."""
    rows = [row[np.isfinite(row)].astype(float) / theta for row in x]
    return max((abs(row).max() for row in rows if row.size), default=0), max((np.ptp(row) for row in rows if row.size), default=0)


def test_a_softmax_without_its_maximum_is_right_for_bounded_logits():
    ranges = []

    def naive(x, theta=1.0):
        ranges.append(range_of(x, theta))
        with np.errstate(all="ignore"):
            e = np.exp((x / np.float32(theta)).astype(np.float32))
            total = e.sum(-1, keepdims=True)
            return e / np.where(total == 0, np.float32(1), total)

    words = {"contract": "masked=zero exp=400ulp"}
    report = judged(naive, "logits<=80 spread<=100.5", **words)
    assert report.verdict == "pass", str(report)
    assert max(logit for logit, _ in ranges) == 80 and 80 < max(spread for _, spread in ranges) <= 100.5
    assert judged(naive, "", **words).verdict == "fail"


def test_rows_without_items_are_left_out():
    blind = []

    def right(x, theta=1.0, mask=None):
        seen = x if mask is None else np.where(mask, x, -np.inf)
        most = seen.max(-1, keepdims=True)
        blind.append(np.isneginf(most).any())
        with np.errstate(all="ignore"):
            e = np.exp((seen.astype(float) - np.where(np.isneginf(most), 0, most)) / theta)
            total = e.sum(-1, keepdims=True)
            return (e / np.where(total == 0, 1, total)).astype(np.float32)

    report = judged(right, "visible>=1", contract="masked=nan")  # it gives zeros: no call shows that
    assert report.verdict == "pass", str(report)
    assert not any(blind)
    assert judged(right, "").verdict == "pass" and any(blind)


def merged(out, lse, lse_base2=False):
    """Reads the outputs of empty parts, times 0."""
    lse = lse.astype(float) * (np.log(2) if lse_base2 else 1)
    most = lse.max(0, initial=-np.inf)
    most = np.where(np.isneginf(most), 0, most)
    with np.errstate(all="ignore"):
        w = np.exp(lse - most)
        total = w.sum(0)
        result = (w[..., None] * out).sum(0) / np.where(total == 0, 1, total)[..., None]
        return result.astype(out.dtype), ((np.log(total) + most) / (np.log(2) if lse_base2 else 1)).astype(np.float32)


def test_empty_parts_of_a_merge_are_zeros():
    report = judged(merged, "empty=zero", "merge_states")
    assert report.verdict == "pass", str(report)
    report = judged(merged, "", "merge_states")
    assert report.verdict == "fail" and "nan" in report.text

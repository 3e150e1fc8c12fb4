"""Kernels that read a row once: which word of sum= each keeps, as docs/kernels/contract.md has it."""

import numpy as np
import pytest
import softcheck

ASKED = {"effort": "quick", "cases": 5, "progress": False, "domain": "n>=1 n<=64 rows<=2"}


def streamed(logits, block):
    """Softmax over blocks of a row: each is added as a tree, and its sum to a running one that follows the maximum."""
    maximum = np.full(logits.shape[:-1], -np.inf, logits.dtype)
    total = np.zeros_like(maximum)
    with np.errstate(all="ignore"):
        for first in range(0, logits.shape[-1], block):
            part = logits[..., first : first + block]
            larger = np.maximum(maximum, part.max(axis=-1))
            terms = np.where(np.isneginf(larger)[..., None], 0, np.exp(part - larger[..., None])).astype(logits.dtype)
            while terms.shape[-1] > 1:
                if terms.shape[-1] % 2:
                    terms = np.concatenate([terms, np.zeros_like(terms[..., :1])], axis=-1)
                terms = terms[..., ::2] + terms[..., 1::2]
            factor = np.where(larger == maximum, 1, np.exp(maximum - larger)).astype(logits.dtype)
            maximum, total = larger, total * factor + terms[..., 0]
        return np.exp(logits - maximum[..., None]) / total[..., None]


def item_by_item(logits):
    return streamed(logits, 1)


def by_blocks_of_32(logits):
    return streamed(logits, 32)


def running_logarithm(logits):
    total = np.full(logits.shape[:-1], -np.inf, logits.dtype)
    for i in range(logits.shape[-1]):
        total = np.logaddexp(total, logits[..., i])
    return total


@pytest.mark.parametrize("fn, word", [(item_by_item, "sequential"), (by_blocks_of_32, "lanes:32")])
def test_an_online_maximum_needs_no_word(fn, word):
    report = softcheck.check(fn, contract=f"exp=2ulp sum={word}", **ASKED)
    assert report, str(report)


def test_a_smaller_height_is_not_kept():
    assert softcheck.check(item_by_item, contract="exp=2ulp sum=lanes:32", **ASKED).verdict == "fail"


def test_a_running_logarithm_keeps_no_word():
    report = softcheck.check(running_logarithm, "logsumexp", contract="exp=2ulp", **ASKED)
    assert report.verdict == "fail", str(report)

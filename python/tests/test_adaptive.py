"""adaptive_softmax and adaptive_attention: judged by their contract, and differentiated."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import softcheck

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "adaptive_temperature.md"
ROWS = {"op": "adaptive_softmax", "contract": "exp=1ulp sum=blocks:32 entropy=exact subnormal=kept", "domain": "n>=0 n<=1000 rows<=9"}
HEADS = {
    "op": "adaptive_attention",
    "contract": "exp=1ulp sum=blocks:128 masked=zero entropy=exact subnormal=kept",
    "domain": "keys<=33 queries<=17 dim<=32 batch<=2 heads<=4",
}
RNG = np.random.default_rng(4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float8_e4m3fn"])
def test_rows_keep_the_contract(dtype):
    if dtype.startswith(("b", "float8")):
        pytest.importorskip("ml_dtypes")
    report = softcheck.check(softcheck.adaptive_softmax, dtype=dtype, cases=20, **ROWS)
    assert report.verdict == "pass", str(report)
    assert "nomask" not in report.text and "left at their defaults" not in report.text


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_attention_keeps_the_contract(dtype):
    report = softcheck.check(softcheck.adaptive_attention, dtype=dtype, cases=20, **HEADS)
    assert report.verdict == "pass", str(report)
    assert not any(word in report.text for word in ("nomask", "nocausal", "left at their defaults"))


def test_torch_has_the_same_bits():
    torch = pytest.importorskip("torch")
    x = RNG.normal(size=(3, 5, 2)).astype(np.float32)
    mask = RNG.random((5, 2)) < 0.7
    for words in ({}, {"dim": 1}, {"mask": mask}):
        expected = softcheck.adaptive_softmax(x, **words)
        got = softcheck.adaptive_softmax(torch.tensor(x), **{**words, **({"mask": torch.tensor(mask)} if "mask" in words else {})})
        np.testing.assert_array_equal(got.numpy(), expected)
    assert softcheck.adaptive_softmax(torch.zeros(2, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16
    q, k, v = RNG.normal(size=(3, 1, 2, 5, 4)).astype(np.float32)
    got = softcheck.adaptive_attention(*map(torch.tensor, (q, k, v)), causal=True)
    np.testing.assert_array_equal(got.numpy(), softcheck.adaptive_attention(q, k, v, causal=True))
    softcheck.assert_output("adaptive_attention", (q, k, v), got, causal=True, contract="masked=zero entropy=exact")


def beta_of(torch, entropy):
    fit = -0.037 * entropy**4 + 0.481 * entropy**3 - 2.3 * entropy**2 + 4.917 * entropy - 1.791
    return torch.where(entropy > 0.5, fit.clamp(min=1), torch.ones_like(fit))


def softmax_by_hand(torch, x):
    p = torch.softmax(x, -1)
    entropy = -torch.where(p > 0, p * torch.log_softmax(x, -1), torch.zeros_like(p)).sum(-1, keepdim=True)
    return torch.softmax(beta_of(torch, entropy) * x, -1)


def agree(torch, got, expected):
    """Both are in float64, of a few dozen terms of size 1."""
    for one, other in zip(got, expected):
        assert (one - other).abs().max() <= 2**-44 * other.abs().max(), (one, other)


def test_gradients_go_through_the_temperature():
    torch = pytest.importorskip("torch")
    x = torch.tensor(RNG.normal(size=(4, 9)), requires_grad=True)  # 2 nats or so: beta > 1
    weights = torch.tensor(RNG.normal(size=(4, 9)))
    mask = torch.tensor(RNG.random((4, 9)) < 0.8)
    assert (softmax_by_hand(torch, x) - torch.softmax(x, -1)).abs().max() > 0.01
    for seen in (None, mask):
        hidden = x if seen is None else x.masked_fill(~seen, float("-inf"))
        expected = torch.autograd.grad((softmax_by_hand(torch, hidden) * weights).nan_to_num().sum(), x) if seen is None else None
        got = torch.autograd.grad((softcheck.adaptive_softmax(x, seen) * weights).sum(), x)
        if expected is not None:
            agree(torch, got, expected)
        else:
            assert (got[0][~seen] == 0).all() and (got[0].sum(-1).abs() < 2**-40).all()
    [transposed] = torch.autograd.grad((softcheck.adaptive_softmax(x.T, dim=0) * weights.T).sum(), x)
    agree(torch, [transposed], torch.autograd.grad((softmax_by_hand(torch, x) * weights).sum(), x))


def test_gradients_of_attention():
    torch = pytest.importorskip("torch")
    q, k, v, g = (torch.tensor(a, requires_grad=True) for a in RNG.normal(size=(4, 2, 2, 7, 5)))
    seen = torch.ones(7, 7).tril().bool()
    for causal in (False, True):
        scores = 0.3 * q @ k.transpose(-1, -2)
        scores = scores.masked_fill(~seen, -1e30) if causal else scores
        expected = torch.autograd.grad((softmax_by_hand(torch, scores) @ v * g).sum(), (q, k, v))
        for words in ({"causal": causal}, {"mask": seen if causal else None}):
            out = softcheck.adaptive_attention(q, k, v, scale=0.3, **words)
            agree(torch, torch.autograd.grad((out * g).sum(), (q, k, v)), expected)
    # Grouped heads, in steps of training.
    k, v = k[:, :1], v[:, :1]
    out = softcheck.adaptive_attention(q, k, v)
    assert [tuple(a.shape) for a in torch.autograd.grad(out.sum(), (q, k, v))] == [(2, 2, 7, 5), (2, 1, 7, 5), (2, 1, 7, 5)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: softcheck.adaptive_softmax([1.0]), "adaptive_softmax: need arrays of NumPy or torch, got <class 'list'>"),
        (lambda x: softcheck.adaptive_softmax(np.ma.array(x)), "adaptive_softmax: need arrays of NumPy or torch, got .*MaskedArray"),
        (lambda x: softcheck.adaptive_softmax(x.astype(int)), "adaptive_softmax: need float64, .*, got int64"),
        (lambda x: softcheck.adaptive_softmax(x[0, 0, 0, 0]), "adaptive_softmax: need an array of one dimension or more, got a number"),
        (lambda x: softcheck.adaptive_softmax(x, dim=4), "adaptive_softmax: dim: need a whole number from -4 to 3, got 4"),
        (lambda x: softcheck.adaptive_softmax(x, -1), r"adaptive_softmax: mask: need an array of bool \(True = visible\), got int"),
        (lambda x: softcheck.adaptive_softmax(x, x), r"mask: need an array of bool \(True = visible\), got f32"),
        (lambda x: softcheck.adaptive_softmax(x, np.ma.array(x > 0)), "mask: need an array of bool .*, got a masked array"),
        (lambda x: softcheck.adaptive_softmax(x, np.ones(4, bool)), r"mask: need a shape that broadcasts to \(1, 2, 3, 5\), got \(4,\)"),
        (lambda x: softcheck.adaptive_attention(x[0], x, x), "adaptive_attention: need q .* got .*2, 3, 5"),
        (lambda x: softcheck.adaptive_attention(x, x, x[:, :, :2]), "k and v of as many heads and keys, .* got .*1, 2, 2, 5"),
        (lambda x: softcheck.adaptive_attention(x, x, x.astype(np.float64)), "of one dtype, got float32, float32, float64"),
        (lambda x: softcheck.adaptive_attention(x, x, x, scale=np.inf), "adaptive_attention: need a finite scale, got inf"),
        (lambda x: softcheck.adaptive_attention(x, x, x, causal=2), "causal: need True or False, got 2"),
    ],
)
def test_a_wrong_argument_is_named(call, message):
    with pytest.raises(softcheck.UsageError, match=message):
        call(np.zeros((1, 2, 3, 5), np.float32))


def test_a_second_derivative_is_an_error():
    torch = pytest.importorskip("torch")
    x = torch.tensor(RNG.normal(size=(1, 1, 3, 4)), requires_grad=True)
    for out in (softcheck.adaptive_softmax(x), softcheck.adaptive_attention(x, x, x)):
        (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="need a first derivative, got a second one"):
            torch.autograd.grad(first.square().sum(), x)


def test_a_mask_is_that_of_the_forward_pass():
    torch = pytest.importorskip("torch")
    x = torch.tensor(RNG.normal(size=(2, 4)), requires_grad=True)
    weights = torch.arange(8.0, dtype=torch.float64).reshape(2, 4)
    seen = np.array([[True, True, True, False], [False] * 4])
    (expected,) = torch.autograd.grad((softcheck.adaptive_softmax(x, seen) * weights)[0].sum(), x)
    out = (softcheck.adaptive_softmax(x, seen) * weights).sum()
    seen[:] = True
    (got,) = torch.autograd.grad(out, x)
    assert (got == expected).all() and (got[1] == 0).all() and got[0, 3] == 0 and (got[0, :3] != 0).all()
    mask = torch.ones(2, 4, dtype=torch.bool)
    out = softcheck.adaptive_softmax(x, mask).sum()
    mask[0, 0] = False
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(out, x)
    with pytest.raises(softcheck.UsageError, match="need q, k and v of one library, got numpy, torch, torch"):
        softcheck.adaptive_attention(np.ones((1, 1, 2, 4)), *[torch.ones(1, 1, 2, 4)] * 2)


def test_empty_rows_and_queries_are_as_the_contract_says():
    assert softcheck.adaptive_softmax(np.zeros((3, 0), np.float32)).shape == (3, 0)
    q = np.ones((1, 1, 2, 4), np.float32)
    assert (softcheck.adaptive_attention(q, q[:, :, :0], q[:, :, :0]) == 0).all()
    assert np.isnan(softcheck.adaptive_softmax(np.zeros(3, np.float32), np.zeros(3, bool))).all()


def test_the_program_of_the_page_prints_what_the_page_shows():
    program, shown = re.search(r"^```python\n(import numpy.*?)^```\n+^```\n(.*?)^```", PAGE.read_text(), re.M | re.S).groups()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == shown and done.returncode == 0, done.stdout + done.stderr

"""torch's names and conventions: attn_mask, is_causal, dim, enable_gqa, and gradients through autograd."""

import functools

import kernels
import numpy as np
import pytest
import softcheck
from softcheck._ops import OPS
from softcheck._parameters import own_arguments

EMPTY = "      empty rows are left out, as n>=1 is the default; domain='n>=0' tries them\n"
TINY = {"domain": "n<=9 rows<=3", "cases": 3}
HEADS = "keys>=1 keys<=9 queries>=1 queries<=9 dim<=16 dim>=1 values>=1 batch<=2 heads<=4"


def attend(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, top_left=True):
    """In NumPy, by torch's names; as torch, it does not take both a mask and causality."""
    assert dropout_p == 0 and not (is_causal and attn_mask is not None)
    seen = np.ones((q.shape[2], k.shape[2]), bool) if attn_mask is None else attn_mask
    if is_causal:
        seen = np.tri(q.shape[2], k.shape[2], 0 if top_left else k.shape[2] - q.shape[2], dtype=bool)
    lower, upper = softcheck.reference("attention", q, k, v, mask=seen, scale=scale, contract="masked=zero")
    with np.errstate(invalid="ignore"):
        return ((lower + upper) / 2).astype(q.dtype)


def test_attention_s_signature_is_understood():
    report = softcheck.check(attend, "attention", domain=HEADS, contract="masked=zero", max_calls=150)
    assert report.verdict == "pass", str(report)
    assert "causal=top-left" in report.text and "nomask" not in report.text and "dropout_p" not in report.text

    def bottom_right(q, k, v, attn_mask=None, is_causal=False, *, scale=None):
        return attend(q, k, v, attn_mask, 0.0, is_causal, scale=scale, top_left=False)

    report = softcheck.check(bottom_right, "attention", domain=HEADS, contract="masked=zero", max_calls=150)
    assert report.verdict == "fail"
    takes = {"mask": "attn_mask", "causal": "is_causal", "scale": "scale"}
    report = softcheck.check(bottom_right, "attention", takes=takes, domain=HEADS, contract="masked=zero", max_calls=150)
    assert report.verdict == "pass", str(report)


@pytest.mark.parametrize("name", ["dim", "axis"])
def test_a_dimension_is_the_last_one(name):
    given = []
    program = {"given": given, "softmax": kernels.softmax}
    exec(f"def along(x, {name}=0):\n    given.append({name})\n    return softmax(x)", program)
    report = softcheck.check(program["along"], isolation="none", **TINY)
    assert report.verdict == "pass" and set(given) == {-1} and "defaults" not in report.text
    exec(f"def wrong(x, {name}):\n    return softmax(x) * x.dtype.type(1.01)", program)
    exec(f"def last(x, {name}=-1, *, dtype=None):\n    return softmax(x)", program)  # as is; under jax.jit it could take no other
    assert own_arguments(program["last"], OPS["softmax"]) == ()
    assert softcheck.check(program["last"], isolation="none", **TINY).text.endswith("in every call: dtype\n" + EMPTY)
    report = softcheck.check(program["wrong"], isolation="none", **TINY)
    assert f"output = wrong(logits, {name}=-1)\n" in report.counterexample.as_test()


def test_functions_of_torch_are_judged_as_they_are():
    torch = pytest.importorskip("torch")
    f32 = {"dtype": torch.float32}
    for function in (torch.softmax, torch.nn.functional.softmax, torch.nn.Softmax(dim=-1)):
        report = softcheck.check(function, **f32, **TINY)
        assert report.verdict == "pass", str(report)
    assert softcheck.check(torch.nn.functional.log_softmax, "log_softmax", **f32, **TINY).verdict == "pass"
    sdpa = torch.nn.functional.scaled_dot_product_attention
    words = {"contract": "exp=2ulp masked=zero scale=split", "domain": f"{HEADS} finite"}
    report = softcheck.check(sdpa, "attention", **f32, **words, cases=15)
    assert report.verdict == "pass", str(report)
    assert "nomask" not in report.text and "nocausal" not in report.text and "group<=1" not in report.text
    report = softcheck.check(lambda q, k, v: 1.01 * sdpa(q, k, v), "attention", **f32, **words, cases=3)
    assert report.verdict == "fail"


def test_a_module_has_its_forward_s_parameters():
    torch = pytest.importorskip("torch")

    class Attention(torch.nn.Module):
        def forward(self, q, k, v, is_causal):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)

    report = softcheck.check(Attention(), "attention", torch.float32, domain=f"{HEADS} group<=1 finite", contract="exp=2ulp scale=split", cases=9)
    assert report.verdict == "pass", str(report)
    assert "nomask" in report.text and "nocausal" not in report.text


def test_autograd_makes_the_gradients():
    torch = pytest.importorskip("torch")

    def forward(q, k, v, scale, causal):
        k, v = (a.repeat_interleave(q.shape[1] // k.shape[1], 1) for a in (k, v))
        seen = torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2]).bool()
        scores = (scale * q @ k.transpose(-1, -2)).masked_fill(~seen, -1e30) if causal else scale * q @ k.transpose(-1, -2)
        return torch.softmax(scores, -1) @ v

    words = {"dtype": torch.float32, "autograd": True, "max_calls": 120, "contract": "exp=2ulp scale=split"}
    domain = f"{HEADS} finite queries<=1"  # of causality each query sees a key
    report = softcheck.check(forward, op="attention_backward", domain=domain, **words)
    assert report.verdict == "pass", str(report)

    def detached(q, k, v, scale):
        return torch.softmax(scale * q.detach() @ k.transpose(-1, -2), -1) @ v

    report = softcheck.check(detached, op="attention_backward", domain=f"{domain} group<=1", **words)
    assert report.verdict == "fail" and "autograd=True" in report.text
    assert [finding.claim for finding in report.findings if "dq" in finding.claim], str(report)

    def loss(x, labels):
        return torch.nn.functional.cross_entropy(x, labels, reduction="none")

    report = softcheck.check(loss, op="cross_entropy_backward", domain="n>=2 n<=9 rows>=1 rows<=3 finite", **{**words, "contract": "exp=2ulp"})
    assert report.verdict == "pass", str(report)


def test_a_forward_without_grouped_heads_is_told_the_word_that_leaves_them_out():
    torch = pytest.importorskip("torch")

    def forward(q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1) @ v

    words = {"autograd": True, "contract": "exp=2ulp scale=split", "max_calls": 40}
    report = softcheck.check(forward, "attention_backward", torch.float32, **words)
    assert report.verdict == "crash" and report.text.count("domain='group=1' leaves") == 1, str(report)
    report = softcheck.check(forward, "attention_backward", torch.float32, domain=f"{HEADS} finite group=1", **words)
    assert report.verdict == "pass" and "group=1'" not in report.text, str(report)


def test_losses_of_torch_get_labels_of_int64():
    torch = pytest.importorskip("torch")
    loss = torch.nn.functional.cross_entropy
    words = {"domain": "n>=2 n<=9 rows>=1 rows<=3 finite", "contract": "exp=2ulp", "max_calls": 60}
    for op, function in (
        ("cross_entropy_mean", loss),
        ("cross_entropy_mean", torch.nn.CrossEntropyLoss()),
        ("cross_entropy", loss),
    ):
        report = softcheck.check(function, op, torch.float32, **words)
        assert report.verdict == "pass", str(report)
        assert op != "cross_entropy" or "reduction" not in report.text
    for op, function in (("cross_entropy", functools.partial(loss, reduction="none")), ("cross_entropy_mean", functools.partial(loss))):
        report = softcheck.check(function, op, **words)  # torch's arrays, whose function partial holds
        assert report.verdict == "pass", str(report)
    report = softcheck.check(lambda x, labels: loss(x, labels), "cross_entropy_mean_backward", torch.float32, autograd=True, **words)
    assert report.verdict == "pass", str(report)
    assert softcheck.check(loss, "cross_entropy_backward", torch.float32, autograd=True, **words).verdict == "pass"
    report = softcheck.check(lambda x, labels: loss(x, labels), "cross_entropy_mean", torch.float32, **words)
    assert report.verdict == "crash" and "labels.long() makes them int64, which torch's losses need" in report.text, str(report)
    wrong = functools.partial(loss, label_smoothing=0.1)
    report = softcheck.check(wrong, "cross_entropy_mean", torch.float32, takes=(), **words)
    assert report.counterexample.inputs["labels"].dtype == torch.int64, str(report)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("softmax", "need one of the ops cross_entropy_backward, cross_entropy_mean_backward, soft_cross_entropy_backward, kl_divergence_backward, attention_backward, linear_cross_entropy_backward, got softmax"),
        ("softmax_backward", "need one of the ops .*, got softmax_backward"),
        ("attention_backward", "need arrays of torch, dtype=torch.float32, got numpy"),
    ],
)
def test_what_has_no_such_gradients_is_said(op, message):
    with pytest.raises(softcheck.UsageError, match=f"^autograd: {message}$"):
        softcheck.check(lambda q, k, v: q, op=op, autograd=True)


def test_a_wrapper_is_asked_for_what_it_takes():
    def wrapper(*arguments, **keywords):
        return kernels.softmax_at(*arguments, **keywords)

    with pytest.raises(softcheck.UsageError, match=r"^takes: need those of mask, theta, out that .*wrapper\(\*args, \*\*kwargs\) takes, or \(\)"):
        softcheck.check(wrapper, **TINY)
    assert softcheck.check(wrapper, takes=["theta", "mask"], contract="exp=E:2,A:4", **TINY).verdict == "pass"
    assert softcheck.check(lambda *a, **k: kernels.softmax(*a, **k), takes=(), **TINY).verdict == "pass"


def test_empty_rows_are_left_out_unless_the_domain_asks_for_them():
    def of_some(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    note = "empty rows are left out, as n>=1 is the default; domain='n>=0' tries them"
    for domain in (None, "rows<=3 n<=9"):
        report = softcheck.check(of_some, domain=domain, max_calls=60)
        assert report.verdict == "pass", str(report)
        assert report.text.rstrip().endswith(note)
    report = softcheck.check(of_some, domain="rows<=3 n>=0 n<=9", cases=9)
    assert report.verdict == "crash" and note not in report.text
    assert note not in softcheck.check(of_some, domain="n=3 rows<=3", cases=1).text

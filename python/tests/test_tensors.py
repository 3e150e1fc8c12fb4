import itertools

import kernels
import numpy as np
import pytest

import softcheck

RANDOM = np.random.default_rng(20241001)
X = RANDOM.normal(size=(2, 3, 50)).astype(np.float32)
LABELS = np.zeros(X.shape[:2], np.int64)
Q, K, V = (RANDOM.normal(size=(2, 4, 9, 8)).astype(np.float32) for _ in range(3))


def test_a_right_result_passes():
    report = softcheck.assert_output("softmax", X, kernels.softmax(X))
    assert report.verdict == "pass" and report.data["judged"] == 6


def test_a_wrong_item_is_found_at_its_place():
    result = kernels.softmax(X)
    result[1, 2, 7] *= np.float32(1.0001)
    with pytest.raises(AssertionError) as violation:
        softcheck.assert_output("softmax", X, result)
    worst = violation.value.report.data["worst"][0]
    assert worst["index"] == [1, 2] and worst["item"] == 7
    assert violation.value.report.data["failed"] == 1


def test_no_output_is_told_by_its_name():
    with pytest.raises(softcheck.UsageError, match="^output: need an array, got None$"):
        softcheck.assert_output("softmax", X, None)



def test_causality_that_was_not_passed_is_named():
    def attention(seen):
        scores = np.einsum("bhqd,bhkd->bhqk", Q, K) / np.sqrt(np.float32(8))
        weights = np.exp(np.where(seen, scores, -np.inf) - scores.max(-1, keepdims=True))
        return (weights @ V / weights.sum(-1, keepdims=True)).astype(np.float32)

    plain, causal = attention(True), attention(np.tril(np.ones((9, 9), bool)))
    with pytest.raises(softcheck.Violation, match=r"cause: every row is right as causal attention: causal=True .* was not passed"):
        softcheck.assert_output("attention", (Q, K, V), causal)
    assert softcheck.assert_output("attention", (Q, K, V), causal, causal=True)
    with pytest.raises(softcheck.Violation, match="every row is right without causality"):
        softcheck.assert_output("attention", (Q, K, V), plain, causal=True)


def test_a_contract_that_fits_is_named():
    with pytest.raises(AssertionError, match="none of [0-9]+ usual contracts allow these results"):
        softcheck.assert_output("softmax", X, kernels.softmax(X) * np.float32(1.05))
    scores = np.einsum("bhqd,bhkd->bhqk", Q, K) / np.sqrt(np.float32(8))
    weights = np.exp(scores - scores.max(-1, keepdims=True)).view(np.uint32)
    stored = ((weights + 0x7FFF + ((weights >> 16) & 1)) & 0xFFFF0000).view(np.float32)  # to bf16, ties to even
    out = stored @ V / weights.view(np.float32).sum(-1, keepdims=True)
    with pytest.raises(softcheck.Violation) as violation:
        softcheck.assert_output("attention", (Q, K, V), out)
    assert "every row keeps the contract 'weights=bf16'" in str(violation.value)
    fitting = violation.value.report.data["fitting_contract"]
    assert softcheck.assert_output("attention", (Q, K, V), out, contract=fitting).data["fitting_contract"] is None


def test_masks_are_broadcast():
    mask = RANDOM.random(50) < 0.5
    result = kernels.softmax_at(X, 1.0, np.broadcast_to(mask, X.shape))
    assert softcheck.assert_output("softmax", X, result, mask=mask)
    with pytest.raises(AssertionError):
        softcheck.assert_output("softmax", X, kernels.softmax(X), mask=mask)


@pytest.mark.parametrize("order", ["<", ">"])
def test_arrays_of_either_byte_order_are_read(order):
    x, labels = X.astype(f"{order}f4"), np.zeros(X.shape[:2], f"{order}i8")
    assert softcheck.assert_output("softmax", x, kernels.softmax(X).astype(f"{order}f4"))
    with pytest.raises(AssertionError):
        softcheck.assert_output("softmax", x, kernels.softmax(X)[::-1].astype(f"{order}f4"))
    for exact, swapped in zip(softcheck.reference("cross_entropy", X, labels.astype(np.int64)),
                              softcheck.reference("cross_entropy", x, labels)):
        np.testing.assert_array_equal(exact, swapped)


def test_a_tensor_without_data_is_a_wrong_argument():
    torch = pytest.importorskip("torch")
    with pytest.raises(softcheck.UsageError, match="logits: "):
        softcheck.assert_output("softmax", torch.zeros(2, 3, device="meta"), X)


def test_views_are_read_where_they_lie():
    wide = np.zeros((100, 3, 4), np.float32)
    wide[::2] = RANDOM.normal(size=(50, 3, 4))
    view = wide[::-2].T[..., 0:48:3]
    assert softcheck.assert_output("softmax", view, kernels.softmax(view))


def test_attention():
    result = kernels.attention(Q, K, V, 8**-0.5, True)
    assert softcheck.assert_output("attention", (Q, K, V), result, causal=True)
    with pytest.raises(AssertionError):
        softcheck.assert_output("attention", (Q, K, V), result)
    with pytest.raises(AssertionError):
        softcheck.assert_output("attention", (Q, K, V), result, causal=True, scale=0.5)


def test_the_reference_encloses():
    lower, upper = softcheck.reference("softmax", X)
    exact = kernels.softmax(X.astype(np.float64))
    # NumPy's in float64: 49 additions, two exponentials, a difference and a division, each with its rounding of 2^-53.
    room = 64 * 2.0**-53 * exact
    assert lower.shape == X.shape and (lower <= upper).all()
    assert (np.abs(exact - lower) <= room).all() and (upper - lower <= room).all()
    lower, upper = softcheck.reference("attention", Q, K, V, which=1)
    assert lower.shape == (2, 4, 9)


def test_thresholds_are_what_is_granted():
    allowed = softcheck.threshold("softmax", X)
    lower, upper = softcheck.reference("softmax", X)
    # 49 additions in sequence and an exponential of an ulp, in units of 2^-24: no more than twice that.
    assert (allowed > 0).all() and (allowed < 2 * 64 * 2.0**-24).all()
    outside = (upper + 1.01 * allowed).astype(np.float64)
    with pytest.raises(AssertionError):
        softcheck.assert_output("softmax", X, outside, contract="acc=f32")
    tighter = softcheck.threshold("softmax", X, contract="sum=tree")
    assert (tighter < allowed).all()


@pytest.mark.parametrize("name", ["bfloat16", *kernels.EIGHT_BITS])
def test_formats_of_ml_dtypes(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name))
    x = X.astype(dtype)
    result = kernels.softmax(x.astype(np.float32)).astype(dtype)
    assert softcheck.assert_output("softmax", x, result)
    result[0, 0, 0] = dtype.type(1)
    with pytest.raises(AssertionError):
        softcheck.assert_output("softmax", x, result)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: softcheck.assert_output("softmax", X, X[:1]), r"output: need shape \(2, 3, 50\), got \(1, 3, 50\)"),
        (lambda: softcheck.assert_output("softmax", X.astype(int), X), "logits: need float64, .* got int64"),
        (lambda: softcheck.assert_output("softmax", "x", X), "logits: need an array, got str"),
        (lambda: softcheck.assert_output("attention", X, X), "inputs: need q, k, v, got 1 arrays"),
        (lambda: softcheck.assert_output("softmax", X, X, mask=X), "mask: need bool or uint8, got f32"),
        (lambda: softcheck.assert_output("softmax", X, X, mask=[True]), "mask: need an array, got list"),
        (lambda: softcheck.assert_output("softmax", X, X, theta=-1), "theta"),
        (lambda: softcheck.reference("softmax", np.float32(1)), "logits"),
        (lambda: softcheck.assert_output(X, "softmax", X), "^op: need one of softmax,.*, got an object of ndarray$"),
        (lambda: softcheck.assert_output("softmax", X.tolist(), X), r"^inputs: need arrays \(logits\), got a list among them$"),
        (lambda: softcheck.reference("attention", (Q, K, V)), r"^inputs: need arrays \(q, k, v\), got a tuple among them$"),
        (lambda: softcheck.assert_output("softmax", X, X, theta="hot"), "^theta: need a number, got 'hot'$"),
        (lambda: softcheck.assert_output("softmax", X, X, contract=3), "^contract: need words in one text, or one by one, got 3$"),
        (lambda: softcheck.assert_output("attention", (Q, K, V), Q, scale="1"), "^scale: need a number, got '1'$"),
        (lambda: softcheck.assert_output("attention", (Q, K, V), Q, causal="no"), "^causal: need True or False, got 'no'$"),
        (lambda: softcheck.assert_output("attention", (Q, K, V), Q, causal_top_left="no"), "^causal_top_left: need True or False"),
        (lambda: softcheck.assert_output("attention", (Q, K, V), Q, softcap="x"), "^softcap: need a number, got 'x'$"),
        (lambda: softcheck.assert_output("attention", (Q, K, V), Q, window=("a", 2)), r"^window: need \(left, right\), "),
        (lambda: softcheck.assert_output("softmax", X, X, softcap=np.zeros(2)), "^softcap: softmax has none$"),
        (lambda: softcheck.reference("top_p_softmax", X, top_p="x"), "^top_p: need a number, got 'x'$"),
        (lambda: softcheck.reference("topk_softmax", X, k=2.5), "^k: need a whole number from 0 to .*, got 2.5$"),
        (lambda: softcheck.reference("topk_softmax", X, k=2, renormalize="no"), "^renormalize: need True or False, got 'no'$"),
        (lambda: softcheck.reference("softmax", X, which=2**70), "^which: need a whole number from 0 to 4, got 1180591620717411303424$"),
        (lambda: softcheck.threshold("softmax", X, which="out"), "^which: need a whole number from 0 to 4, got 'out'$"),
        (lambda: softcheck.reference("cross_entropy", X, LABELS, ignore_index=2**70), "^ignore_index: need a whole number from -9223372036854775808 "),
        (lambda: softcheck.reference("cross_entropy", X, LABELS, label_smoothing="x"), "^label_smoothing: need a number, got 'x'$"),
    ],
)
def test_a_wrong_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_products_beyond_the_doubles_promise_nothing_at_any_scale():
    query = key = np.array([[1.7e308]])
    inputs = (query, key, np.array([[1.0]]))
    for scale, contract in itertools.product((0.0, 1e-310, 1e-300), ("acc=f64", "exp=E:5000,A:60")):
        lower, upper = softcheck.reference("attention", *inputs, scale=scale)
        assert lower <= 1 <= upper
        with pytest.raises(softcheck.Violation) as violation:
            outputs = (np.array([[0.5]]), np.zeros(1))
            softcheck.assert_output("attention", inputs, outputs, scale=scale, contract=contract)
        assert violation.value.report.verdict == "vacuous"


def test_a_row_without_a_threshold_is_named():
    rng = np.random.default_rng(45)
    q = rng.standard_normal((1, 1, 200, 8)).astype(np.float32)
    k, v = (rng.standard_normal((1, 1, 8, 8)).astype(np.float32) for _ in range(2))
    q[0, 0, 7] *= 1e7
    scores = (q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)) / np.sqrt(8)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    out = (weights / weights.sum(axis=-1, keepdims=True) @ v.astype(np.float64)).astype(np.float32)
    report = softcheck.assert_output("attention", (q, k, v), out)
    details = " ".join(detail for claim in report.claims for detail in claim.details)
    assert "1 of 200 rows" in details and "row (0, 0, 7)" in details
    for wrong in (np.nan, 50.0, 1e30, -7.0):
        broken = out.copy()
        broken[0, 0, 7, 3] = wrong
        with pytest.raises(AssertionError):
            softcheck.assert_output("attention", (q, k, v), broken)

"""certify: the heads of small checkpoints, of every kind that is read.
Exhaustive effort: as much of all arguments as a budget allows.
Progress is written to a terminal on standard error, whatever standard output is; nothing is where that is no terminal.
The replay line of a report, run as it is printed in a program that has the function."""

import functools
import json
import kernels
import numpy as np
import os
import pathlib
import pytest
import re
import shutil
import softcheck
import subprocess
import sys
import types
from campaigns import COMMAND, KERNELS, needs_kernels
from xml.etree import ElementTree


CHECKPOINTS = pathlib.Path(__file__).resolve().parents[2] / "proptests" / "tests" / "models" / "checkpoints"


def test_every_head_is_certified():
    certificates = softcheck.certify(CHECKPOINTS / "llama")
    assert certificates and certificates.verdict == "pass"
    assert len(certificates.heads) == certificates.model["heads"] == 8
    for head in certificates.heads:
        lower, upper = head["spread"]["best"]
        assert 0 < lower <= upper <= head["spread"]["product"][1]
        assert head["overflow"]["f16"] is True
    assert "llama" in str(certificates)


def test_an_argument_of_a_wrong_type_is_named():
    folder = CHECKPOINTS / "llama"
    assert {head["layer"] for head in softcheck.certify(folder, layers=1).heads} == {1}
    assert softcheck.certify(bytes(folder)).verdict == "pass"
    for wrong, message in [
        ({"layers": [0, 1]}, r"layers: need a text, got \[0, 1\]"),
        ({"items": -1}, "items: need a whole number"),
        ({"threads": 2**32}, "threads: need a whole number from 0 to 4294967295"),
    ]:
        with pytest.raises(softcheck.UsageError, match=message):
            softcheck.certify(folder, **wrong)
    with pytest.raises(softcheck.UsageError, match="model: need a path"):
        softcheck.certify(f"{folder}\0")


def test_recorded_activations_lie_within():
    folder = CHECKPOINTS / "bert"
    certificates = softcheck.certify(folder, activations=folder / "observed.safetensors", layers="1")
    assert certificates.verdict == "pass"
    assert {head["layer"] for head in certificates.heads} == {1}
    for head in certificates.heads:
        assert head["observed"]["spread"][1] <= head["spread"]["best"][1]


class Words:
    """As tokenizers.Tokenizer: an id for each word."""

    @staticmethod
    def from_file(path):
        assert pathlib.Path(path).name == "tokenizer.json"
        if not pathlib.Path(path).exists():
            raise Exception("No such file\nand more")
        return Words()

    def no_padding(self):
        pass

    def no_truncation(self):
        pass

    def encode(self, text):
        return types.SimpleNamespace(ids=[int(word) for word in text.split()])


@pytest.fixture
def only_tokenizers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setitem(sys.modules, "tokenizers", types.SimpleNamespace(Tokenizer=Words))


@pytest.fixture
def spoken(tmp_path):
    """A checkpoint with a tokenizer."""
    folder = tmp_path / "bert"
    shutil.copytree(CHECKPOINTS / "bert", folder)
    (folder / "tokenizer.json").write_text("{}")
    return folder


@needs_kernels
def test_a_text_is_run_as_its_ids(only_tokenizers, spoken, tmp_path):
    ids = tmp_path / "ids"
    ids.write_text("3 4 5\n7 8 9 10\n")
    by_ids = softcheck.certify(spoken, tokens=ids)
    for model in (spoken, spoken / "model.safetensors"):
        by_text = softcheck.certify(model, text=["3 4 5", "7 8 9 10"])
        assert [head["observed"] for head in by_text.heads] == [head["observed"] for head in by_ids.heads]
    assert softcheck.certify(spoken, text="3 4 5").heads[0]["observed"] != by_ids.heads[0]["observed"]


def test_a_text_that_cannot_be_run_is_named(only_tokenizers, spoken, monkeypatch):
    for words, message in [
        ({"text": 3}, "^text: need a text, or several, got 3$"),
        ({"text": ["1 2", 3]}, "^text: need a text, or several, got 3$"),
        ({"text": "7"}, "^text: need two tokens or more, '7' has 1$"),
        ({"text": ""}, "^text: need two tokens or more, '' has 0$"),
        ({"text": "1 2", "tokens": "t"}, "^text: need either text, tokens or activations, got tokens, too$"),
        ({"text": "1 2", "activations": "a"}, "got activations, too$"),
        ({"text": "1 2", "model": "nowhere"}, "^model: nowhere is not there$"),
        ({"text": "1 2", "model": CHECKPOINTS / "bert"}, "bert has none that can be read: No such file$"),
    ]:
        with pytest.raises(softcheck.UsageError, match=message):
            softcheck.certify(**{"model": spoken, **words})
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(softcheck.UsageError, match="^text: need the package transformers or tokenizers, neither is installed"):
        softcheck.certify(spoken, text="1 2")


def test_a_real_tokenizer_gives_the_ids(spoken, monkeypatch):
    tokenizers = pytest.importorskip("tokenizers")
    monkeypatch.setitem(sys.modules, "transformers", None)
    own = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<unk>": 0, "a": 5, "cat": 6, "sat": 7}, unk_token="<unk>"))
    own.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    own.enable_truncation(2)
    own.save(str(spoken / "tokenizer.json"))
    assert softcheck.certify(spoken, text="a cat sat a cat").heads[0]["observed"]["rows"] == 5


def test_a_condition_fails():
    certificates = softcheck.certify(CHECKPOINTS / "bert", fail_if=["spread.best > 1e9", "logit < 1e9"])
    assert certificates.verdict == "fail"
    verdicts = {claim["claim"]: claim["verdict"] for claim in certificates.report["claims"]}
    assert verdicts["fail-if spread.best > 1e9"] == "pass"
    assert verdicts["fail-if logit < 1e9"] == "fail"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"model": "nowhere"}, "nowhere: is not there"),
        ({"layers": "7"}, "need layers of 0-1, got 7"),
        ({"layers": "x"}, "need a layer or a range"),
        ({"fail_if": "spread > 3"}, "fail_if: need one of spread.product"),
        ({"model": None}, "^model: need a path, got None$"),
        ({"junit": 3}, "^junit: need a path, got 3$"),
        ({"html": ""}, "^html: need a file that can be written, got ''$"),
        ({"html": "same", "junit": "./same"}, "^junit: need another file than html, got './same'$"),
        ({"html": "/dev/full"}, "^html: /dev/full cannot be written: No space left on device$"),
        ({"junit": "nowhere/a.xml"}, "^junit: need a file that can be written, got 'nowhere/a.xml'$"),
        ({"html": 3}, "^html: need a path, got 3$"),
        ({"html": "/"}, "^html: need a file that can be written, got '/'$"),
        ({"html": "a\0b"}, "^html: need a file that can be written"),
        ({"tokens": 3}, "^tokens: need a path, got 3$"),
        ({"tokens": "nowhere.txt"}, "nowhere.txt: is not there"),
        ({"tokens": CHECKPOINTS / "bert" / "config.json"}, "config.json: line 1: need ids of tokens"),
        ({"tokens": "t", "activations": "a"}, "need either recorded activations or tokens, got both$"),
        ({"activations": 3}, "^activations: need a path, got 3$"),
        ({"eps": "x"}, "^eps: need a number, got 'x'$"),
        ({"fail_if": 3}, "^fail_if: need words in one text, or one by one, got 3$"),
        ({"eps": 1.5}, "need a number between 0 and 1"),
        ({"activations": "nowhere.safetensors"}, "nowhere.safetensors: is not there"),
    ],
)
def test_a_wrong_argument_is_named(words, message):
    arguments = {"model": CHECKPOINTS / "bert", **words}
    with pytest.raises(softcheck.UsageError, match=message):
        softcheck.certify(**arguments)


def test_the_claims_as_junit(tmp_path):
    file = tmp_path / "bert.xml"
    certificates = softcheck.certify(CHECKPOINTS / "bert", fail_if="logit < 1e9", junit=file)
    root = ElementTree.parse(file).getroot()
    failed = {case.get("name") for case in root.iter("testcase") if case.find("failure") is not None}
    assert failed == {claim["claim"] for claim in certificates.report["claims"] if claim["verdict"] == "fail"} != set()


def test_the_page_is_that_of_the_command(tmp_path):
    file = tmp_path / "bert.html"
    certificates = softcheck.certify(CHECKPOINTS / "bert", fail_if="spread.best > 1e9", html=file)
    page = file.read_text()
    assert page.startswith("<!DOCTYPE html>") and "spread.best &gt; 1e9" in page
    assert "html" not in softcheck.certify(CHECKPOINTS / "bert").report and certificates.report["html"] == page


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_run_on_tokens_stays_within_its_bounds(name, tmp_path):
    file = tmp_path / "tokens"
    file.write_text("1 2 3 4 5\n5 4 3\n")
    heads = softcheck.certify(CHECKPOINTS / name, tokens=file).heads
    for head in heads:
        assert 0 < head["observed"]["spread"][1] <= head["spread"]["best"][1]


def test_a_damaged_configuration_is_named(tmp_path):
    for name in ("model.safetensors", "config.json"):
        (tmp_path / name).write_bytes((CHECKPOINTS / "bert" / name).read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    config["model_type"] = "unheard-of"
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(softcheck.UsageError, match="unheard-of"):
        softcheck.certify(tmp_path)


EXHAUSTIVE = {"effort": "exhaustive", "progress": False}
ROWS = {**EXHAUSTIVE, "domain": "theta=1"}
SMALL = [dtype["name"] for dtype in softcheck.describe()["dtypes"] if dtype["bits"] <= 16]


def known_within_a_budget(function, *words, known, **arguments):
    """The report of the least budget within which there is what is looked for: seconds of a loaded machine are short."""
    for budget in (1, 4, 16, 64, 256):
        report = softcheck.check(function, *words, budget=budget, **{**EXHAUSTIVE, **arguments})
        assert report.verdict == "undecided", report
        if known(report):
            return report
    pytest.fail(f"nothing is known in {budget} s: {report}")


def softmax(logits):
    x = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        weights = np.exp(x - x.max(axis=-1, keepdims=True))
        return (weights / weights.sum(axis=-1, keepdims=True)).astype(logits.dtype)


def test_a_budget_ends_it_with_what_is_known():
    known_within_a_budget(
        softmax, "softmax", "float32", domain="theta=1",
        known=lambda report: any("so far within the contract" in note for note in report.data["notes"]),
    )  # fmt: skip


def test_one_wrong_argument_is_found():
    def wrong(logits):
        result = softmax(logits)
        # 2^-149 and its neighbours come first.
        result[np.any(logits == -np.float32(5e-43), axis=-1)] = 0.75
        return result

    report = softcheck.check(wrong, "softmax", "float32", **ROWS, budget=600)
    assert report.verdict == "fail", report
    assert report.data["rows"] < 65536


def test_other_ops_are_refused():
    with pytest.raises(ValueError, match="exhaustive needs one of the ops softmax, log_softmax, logsumexp, entropy, attention"):
        softcheck.check(softmax, "sparsemax", "float32", effort="exhaustive", progress=False)


def test_what_holds_of_all_arguments_is_data_and_a_picture():
    report = known_within_a_budget(
        softmax, "softmax", "float32", domain="theta=1 n=2",
        known=lambda report: report.data["arguments"] and report.data["statements"][0]["judged"] > 0,
    )  # fmt: skip
    (pairs,) = report.data["statements"]
    assert pairs["rows"] > 1.1e9 > pairs["judged"] > 0 and pairs["verdict"] == "undecided"
    assert 0 < pairs["share"] <= pairs["share_at_most"] < 1 and pairs["worst"].startswith("row f32")
    assert {error["statement"] for error in report.data["arguments"]} == {0}
    assert all(0 <= error["worst_ulps"] <= error["allowed_ulps"] for error in report.data["arguments"])
    assert report.data["picture"] in report._repr_html_() and "softmax f32 [" in report.data["picture"]


def test_few_shapes_have_pairs_in_large_calls():
    seen = set()

    def counted(logits):
        seen.add(logits.shape)
        return softmax(logits)

    report = known_within_a_budget(
        counted, "softmax", "float32", shapes="few", isolation="none", domain="theta=1", known=lambda _: (16384, 2) in seen
    )
    assert report.data["statements"][0]["name"].endswith("n = 2, theta = 1")
    assert len(seen) <= 40


def attention(q, k, v, scale):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    with np.errstate(invalid="ignore"):
        scores = scale * (q @ k.swapaxes(-1, -2))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return (weights / weights.sum(axis=-1, keepdims=True) @ v).astype(np.float16)


def test_every_score_of_attention_is_asked_for():
    shapes = set()

    def counted(q, k, v, scale):
        shapes.add((q.shape, k.shape, v.shape))
        return attention(q, k, v, scale)

    report = known_within_a_budget(
        counted, "attention", "float16", shapes="few", isolation="none",
        known=lambda report: report.data["statements"] and report.data["statements"][0]["judged"] > 0,
    )  # fmt: skip
    (scores,) = report.data["statements"]
    assert scores["name"].startswith("every f16 query with every finite key, d = 1")
    # 17 calls hold all 65,536 queries: all but the last have one size.
    assert {queries for queries, _, _ in shapes} <= {(1, 1, 3856, 1), (1, 1, 65536 - 16 * 3856, 1)}
    assert {(keys, values) for _, keys, values in shapes} == {((1, 1, 16, 1), (1, 1, 16, 16))}


def test_one_wrong_score_is_found():
    def wrong(q, k, v, scale):
        out = attention(q, k, v, scale)
        # The least subnormal number, and a query of the second call.
        met = (q[..., 0] == np.float16(0.0005)) & (k[..., 2, 0, None] == np.float16(2.0**-24))
        out[..., 2] = np.where(met, 0.0635, out[..., 2])
        return out

    report = softcheck.check(wrong, "attention", "float16", budget=600, **EXHAUSTIVE)
    assert report.verdict == "fail", report
    assert report.data["counterexample"]["case"].startswith("attention f16 batch=1 kv=1 group=1 queries=1 keys=16 dim=1")


def test_attention_in_float32_is_refused():
    with pytest.raises(ValueError, match=f"needs {', '.join(SMALL[:-1])} or {SMALL[-1]} of attention, got f32"):
        softcheck.check(attention, "attention", "float32", effort="exhaustive", progress=False)


pty = pytest.importorskip("pty")

CHECK = """
import softcheck

def kept(x):
    return x

softcheck.{function}(kept, domain="n>=1 n<=9", cases=4)
print("done")
"""


def on_a_terminal(*command):
    """What the command writes to a terminal on standard error, and to the pipe on standard output."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while some := os.read(ours, 1 << 16):
                shown += some
        except OSError:  # Linux says so that the other side is closed
            pass
        os.close(ours)
        return shown.decode(), process.stdout.read().decode()


def commands(folder):
    np.save(folder / "x.npy", np.zeros((300000, 8), np.float32))
    np.save(folder / "p.npy", np.full((300000, 8), 0.125, np.float32))
    kernel = ("kernel", f"{KERNELS}/libsoftcheck_zoo.so:correct_two_pass", "--cases", "2", "--domain", "n<=9 rows<=3")
    return {
        "kernel": (COMMAND, *kernel),
        "infer": (COMMAND, *kernel, "--infer"),
        "check": (COMMAND, "check", "--logits", folder / "x.npy", "--output", folder / "p.npy"),
        "python check": (sys.executable, "-c", CHECK.format(function="check")),
        "python infer": (sys.executable, "-c", CHECK.format(function="infer")),
    }


@needs_kernels
@pytest.mark.parametrize("name", ["kernel", "infer", "check", "python check", "python infer"])
def test_progress_is_shown_on_a_terminal_beside_a_pipe(name, tmp_path):
    command = commands(tmp_path)[name]
    shown, printed = on_a_terminal(*command)
    assert (" of 300000 rows, " if name == "check" else " cases, ") in shown, shown
    assert shown.endswith("\x1b[K")  # the line is gone at the end
    assert printed and "\r" not in printed and "\x1b" not in printed
    quiet = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert quiet.stderr == "", quiet.stderr


def line_of(report):
    return re.search(r"replay: (softcheck\.check\(.*\))$", report.text, re.M)[1]


def replayed(report, **names):
    return eval(line_of(report), {"softcheck": softcheck, **names})  # noqa: S307: the line is what is tested


def fails_alike(report, **names):
    again = replayed(report, **names)
    assert again.verdict == report.verdict, f"{line_of(report)}\n{again}"
    line = line_of(report)
    assert f"replay='{again.counterexample.property} " in line
    return line


def softmax_off(x, temperature, out):
    kernels.softmax_into(x if temperature == 1 else (x / temperature).astype(x.dtype), out)
    out *= 1.5


def raises_of_shapes(x):
    if x.shape[0] > 1:
        raise NotImplementedError
    if x.shape[1] > 2:
        raise KeyError("n")
    return kernels.softmax(x)


def test_it_names_what_is_not_the_default():
    report = softcheck.check(
        softmax_off, takes={"theta": "temperature"}, out=True, isolation="none", strides=False, time_limit=7, cases=3, seed=4
    )
    line = fails_alike(report, softmax_off=softmax_off)
    assert "dtype='f32', time_limit=7, takes={'theta': 'temperature'}, out=True, strides=False, isolation='none'" in line
    assert "seed" not in line and "cases" not in line and "refuses" not in line


def test_it_names_the_dtypes_and_the_library_of_its_arrays():
    torch = pytest.importorskip("torch")

    def lse(x):
        return torch.logsumexp(x, -1) + 0.5

    report = softcheck.check(lse, "logsumexp", torch.float16, out_dtype=torch.float16, domain="n>=1", cases=3)
    assert "dtype=torch.float16, out_dtype=torch.float16, domain=" in fails_alike(report, lse=lse, torch=torch)
    report = softcheck.check(lse, "logsumexp", "float64", arrays="torch", domain="n>=1", cases=3)
    assert "dtype='f64', arrays='torch', domain=" in fails_alike(report, lse=lse)
    report = softcheck.check(torch.exp, "softmax", torch.float32, cases=3)
    assert "softcheck.check(torch.exp, op=" in fails_alike(report, torch=torch)


def test_it_names_the_exceptions_that_refuse():
    report = softcheck.check(raises_of_shapes, refuses=(NotImplementedError,), cases=3)
    assert "refuses=(NotImplementedError,)" in line_of(report)
    assert replayed(report, raises_of_shapes=raises_of_shapes).verdict == "crash"  # the KeyError, graver than the refusal


def test_it_names_no_function_that_it_cannot_name():
    wrong = [lambda x: kernels.one_item_off(x), functools.partial(kernels.one_item_off)]
    for function in wrong:
        report = softcheck.check(function, domain="n<=129 rows<=3", cases=3)
        assert "softcheck.check(your_function, op=" in fails_alike(report, your_function=function)
        assert "<lambda>" not in line_of(report)


def test_a_dtype_of_numpy_s_is_named():
    report = softcheck.check(kernels.one_item_off, dtype=np.float64, domain="n<=129 rows<=3", cases=3)
    assert "dtype='f64'" in fails_alike(report, one_item_off=kernels.one_item_off)

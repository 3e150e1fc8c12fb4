"""certify: the heads of small checkpoints, of every kind that is read."""

import json
import pathlib
import pytest
import shutil
import softcheck
import sys
import types
from campaigns import needs_kernels
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


def recorded(checkpoint, path):
    """The tensors that observed.safetensors has of a checkpoint, as a file of their own."""
    data = (CHECKPOINTS / "observed.safetensors").read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    entries = {name[len(checkpoint) + 1 :]: entry for name, entry in json.loads(data[8:begin]).items() if name.startswith(f"{checkpoint}.")}
    offsets = [offset for entry in entries.values() for offset in entry["data_offsets"]]
    for entry in entries.values():
        entry["data_offsets"] = [offset - min(offsets) for offset in entry["data_offsets"]]
    header = json.dumps(entries).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[begin + min(offsets) : begin + max(offsets)])
    return path


def test_recorded_activations_lie_within(tmp_path):
    folder = CHECKPOINTS / "bert"
    certificates = softcheck.certify(folder, activations=recorded("bert", tmp_path / "observed"), layers="1")
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

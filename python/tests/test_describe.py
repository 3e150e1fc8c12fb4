"""softcheck.describe: what the library's tables say is what its functions take."""

import pathlib
import re
import subprocess

import kernels
import numpy as np
import pytest

import softcheck
from campaigns import COMMAND

ROOT = pathlib.Path(__file__).parents[2]
TABLES = softcheck.describe()
OPS = {op["name"]: op for op in TABLES["ops"]}
ROW = np.array([0.5, -1, 3], np.float32)


def test_ops_have_their_inputs_in_the_order_of_a_call():
    def roles(op):
        return [tensor["role"] for tensor in OPS[op]["inputs"] if not tensor["optional"]]

    assert roles("softmax") == ["logits"]
    assert roles("softmax_backward") == ["saved", "out_gradient"]
    assert roles("cross_entropy_backward") == ["logits", "labels", "upstream"]
    assert roles("merge_states") == ["out", "lse"]
    assert roles("attention") == ["q", "k", "v"]
    assert roles("attention_backward") == ["q", "k", "v", "out", "lse", "out_gradient"]
    assert [op for op in OPS if OPS[op]["of"] == "attention"] == ["attention", "adaptive_attention", "sigmoid_attention", "differential_attention", "attention_backward"]


@pytest.mark.parametrize("word", TABLES["contract_words"], ids=lambda word: word["word"])
def test_every_alternative_of_a_contract_word_is_read(word):
    assert word["grants"]
    for value in word["values"].split("|"):
        value = value.replace("E:e,A:a", "E:2,A:1").replace("K", "4")
        granted = softcheck.threshold("softmax", ROW, contract=f"{word['word']}={value}")
        assert granted.shape == ROW.shape and (granted > 0).all()
    with pytest.raises(softcheck.UsageError, match=word["word"]):
        softcheck.threshold("softmax", ROW, contract=f"{word['word']}=nonsense")


def test_the_page_of_contracts_has_every_contract_word_with_its_alternatives():
    table = (ROOT / "docs/kernels/contract.md").read_text().split("| word | default | what it grants |\n")[1].split("\n\n")[0]
    told = {}
    for row in table.splitlines()[1:]:
        for word, values in re.findall(r"`(\w+)=([^`]*)`", row.replace("\\|", "/").split(" | ")[0]):
            told.setdefault(word, set()).update(values.replace("FORMAT", "f64/f32/f16/bf16").split("/"))
    assert told == {word["word"]: set(word["values"].split("|")) for word in TABLES["contract_words"]}


def test_every_op_has_its_page():
    pages = "".join(page.read_text() for page in (ROOT / "docs/ops").glob("*.md"))
    assert {op["name"]: pages.count(f"\n| `{op['name']}` | ") for op in TABLES["ops"]} == {op["name"]: 1 for op in TABLES["ops"]}


@pytest.mark.parametrize("word", TABLES["domain_words"], ids=lambda word: word["word"])
def test_every_domain_word_is_read_by_its_ops(word):
    assert word["means"]
    text = word["word"] + "16" * word["word"].endswith("=")

    def refusal(op):
        try:
            softcheck.check(lambda *arrays: None, op, domain=text + " n=2" * (op == "softmax"), max_calls=1)
        except softcheck.UsageError as error:
            return str(error)
        return ""

    for op, of in (("softmax", "rows"), ("attention", "attention")):
        known = word["of"] in (of, "both")
        assert ("domain: need a word of " in refusal(op)) != known, refusal(op)


def test_verdicts_have_the_exit_codes_of_the_command():
    codes = {verdict["verdict"]: verdict["exit_code"] for verdict in TABLES["verdicts"]}
    assert codes == {"pass": 0, "fail": 1, "refused": 4, "vacuous": 5, "undecided": 5, "crash": 6, "timeout": 7}
    assert softcheck.check(kernels.softmax, domain="n<=9 rows<=3", cases=1).verdict in codes


def test_the_pages_have_the_exit_codes_of_the_command():
    told = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    codes = " ".join(re.search(r"Exit codes: (.*?timed out)", told, re.S)[1].split())
    for page in ("docs/verbs.md", "docs/design.md"):
        assert codes in " ".join((ROOT / page).read_text().replace("`", "").replace("**", "").split()), page


def test_dtypes_have_their_numbers():
    dtypes = {dtype["name"]: dtype for dtype in TABLES["dtypes"]}
    for name, numpy in (("f64", np.float64), ("f32", np.float32), ("f16", np.float16)):
        info = np.finfo(numpy)
        assert dtypes[name]["largest"] == float(info.max)
        assert dtypes[name]["smallest_normal"] == float(info.tiny)
        assert 2 * dtypes[name]["unit_roundoff"] == float(info.eps)
        assert dtypes[name]["bits"] == info.bits
        assert dtypes[name]["array_dtype"] == np.dtype(numpy).name
    assert [name for name, dtype in dtypes.items() if not dtype["infinity"]] == ["e4m3"]

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import types

import numpy as np
import pytest

import softcheck
from softcheck import _library
from softcheck._ops import OPS
from softcheck.field import data, judge, report, sweep
from softcheck.field.__main__ import main
from softcheck.field.kernel import Kernel

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE / "packages"))
from fake import library  # noqa: E402: its folder comes first

# Seconds for one pair: no load of a machine makes a judgement of few items take them.
PLENTY = 600
SMALL = "n<=33 rows<=3"
FEW = {"domain": f"n>=1 rows>=1 {SMALL}"}

DOCS = HERE.parent.parent / "docs"
REPRODUCTIONS = sorted((DOCS / "field").glob("*.py"))
TABLES = sorted((DOCS / "field").glob("*.tsv"))
PAGES = report.pages_in(DOCS)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("field")
    old = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE / "packages"), str(HERE.parent), old])
    try:
        return sweep.sweep("fake.library", folder, PLENTY, "quick", domain=SMALL), folder
    finally:
        os.environ["PYTHONPATH"] = old


def kernel(swept, name):
    return next(k for k in swept[0]["kernels"] if k["kernel"] == name)


def test_a_correct_kernel_passes_with_its_contract(swept):
    found = kernel(swept, "softmax")
    assert found["verdict"] == "pass" and "acc=f32" in found["contract"] and found["findings"] == []


def test_a_lost_nan_is_a_finding_beside_values_that_hold(swept):
    found = kernel(swept, "loses_nan")
    assert found["verdict"] == "pass" and [f["claim"] for f in found["findings"]] == ["kernel.nan_row"]


def test_a_wrong_value_comes_with_its_input(swept):
    found = kernel(swept, "unshifted")
    assert found["verdict"] == "fail" and found["contract"] is None
    assert any(f["claim"] == "kernel.softmax.element" and f["case"].startswith("row f32") for f in found["findings"])


def test_a_crash_costs_one_kernel(swept):
    assert kernel(swept, "dies")["verdict"] == "crash"
    assert kernel(swept, "softmax again")["verdict"] == "pass"


def slow_softmax(x):
    time.sleep(0.02)
    return library.softmax(x)


def test_a_budget_is_for_all_stages_together():
    slow = Kernel("slow", "softmax", "float64", slow_softmax, "https://example.org/")
    found = judge.judge(slow, "none", 1)
    assert found["verdict"] == "undecided" and found["ended"] == "inference" and found["contract"] is None
    assert found["seconds"] >= judge.F64_TIME
    (row,) = data.rows_of({"library": "fake", "kernels": [found]})
    assert (row.verdict, row.grade, row.contract) == ("undecided in inference", "undecided", data.NONE)


CUT = softcheck.Report("undecided", "", "", (), None, {"contract": None, "ended_early": "the time budget was spent"})


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still but for what a test adds to it."""
    stopped = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr(judge, "time", types.SimpleNamespace(monotonic=lambda: stopped.now))
    return stopped


def test_a_judgement_that_is_cut_before_the_budget_ends_is_asked_again_without_parts(monkeypatch, clock):
    """Each property has its part of a budget, so that the slowest one is cut with most of it left."""
    held = softcheck.Report("pass", "", "", (), "acc=f32", {"contract": "acc=f32", "claims": []})
    budgets = []

    def infer(*_, budget, **__):
        budgets.append(budget)
        clock.now += 1
        return CUT if budget else held

    monkeypatch.setattr(softcheck, "infer", infer)
    found = judge.judge(Kernel("cut", "softmax", "float32", library.softmax, ""), "none", 60)
    assert (found["verdict"], found["ended"], found["contract"]) == ("pass", None, "acc=f32")
    assert budgets == [60, None]


def test_a_judgement_that_is_cut_twice_is_undecided(monkeypatch):
    monkeypatch.setattr(softcheck, "infer", lambda *_, **__: CUT)
    found = judge.judge(Kernel("cut", "softmax", "float32", library.softmax, ""), "none", 60)
    assert (found["verdict"], found["ended"], found["contract"]) == ("undecided", "inference", None)


def test_a_judgement_without_a_budget_ends_at_the_moment_that_is_told():
    """As the second time that a field's pair is asked, which has no budget in parts."""
    start = time.monotonic()
    with _library.ending_at(start + 1):
        report = softcheck.check(slow_softmax, "softmax", "float64", isolation="none", progress=False)
    assert report.verdict == "undecided" and report.data["ended_early"] and "interrupted" not in report.data
    assert time.monotonic() >= start + 1


@pytest.fixture
def inference_fits_none(monkeypatch):
    unfit = softcheck.Report("fail", "", "masked=nan", (), None, {"contract": None})
    monkeypatch.setattr(softcheck, "infer", lambda *_, **__: unfit)


def softmax_of_stored_exponentials(x):
    """As torch's along an axis that is not the last."""
    wide = x.astype(np.float32)
    with np.errstate(all="ignore"):
        e = np.exp(wide - wide.max(axis=-1, keepdims=True)).astype(np.float16).astype(np.float32)
        return (e / e.sum(axis=-1, keepdims=True)).astype(np.float16)


def test_flushed_does_not_excuse_exponentials_in_float16(inference_fits_none):
    """It grants 2^-14 to a result of 0 alone, which is as much as half a unit of 0.1: weights= says what such a kernel does."""
    stored = Kernel("stored", "softmax", "float16", softmax_of_stored_exponentials, "", arguments=FEW)
    found = judge.judge(stored, "none", PLENTY)
    assert found["verdict"] == "pass" and found["weak"] == ["weights=f16"], found["summary"]
    assert "flushed" not in found["contract"]


def test_a_wider_contract_is_tried_where_a_documented_one_is_broken():
    given = {"contract": "acc=f32 exp=4ulp sum=sequential subnormal=flushed masked=nan", "arguments": FEW}
    found = judge.judge(Kernel("stored", "softmax", "float16", softmax_of_stored_exponentials, "", **given), "none", PLENTY)
    assert found["verdict"] == "pass" and found["weak"] == ["weights=f16"], found["summary"]
    assert [(f["claim"], f["contract"].split()[0]) for f in found["findings"]] == [("kernel.softmax.element", "acc=f32")]


def topk_of_flushed_softmax(logits, k):
    """Of float16 logits, in float32, which is 0 below its smallest normal number: as that of XLA on the CPU."""
    y = library.softmax(logits.astype(np.float32)).astype(np.float32)
    y = np.where(y < np.finfo(np.float32).tiny, np.float32(0), y)
    ids = np.argsort(-logits.astype(np.float32), axis=-1, kind="stable")[:, :k]
    return np.take_along_axis(y, ids, -1), ids.astype(np.int64)


def test_weights_of_float32_are_not_said_to_be_stored_in_float16(inference_fits_none):
    router = {"domain": "n=3|17 rows=1|3 k=2 finite"}
    found = judge.judge(Kernel("router", "topk_softmax", "float16", topk_of_flushed_softmax, "", arguments=router), "none", PLENTY)
    assert found["verdict"] == "pass" and found["weak"] == [], found["text"]
    assert "weights=" not in found["contract"] and "flushed" in found["contract"]


def softmax_of_visible(x, mask):
    """0 where everything is hidden, NaN where everything is -inf: no word of a contract is for that."""
    seen = np.ones(x.shape, bool) if mask is None else mask
    y = library.softmax(np.where(seen, x, np.float32(-np.inf)))
    return np.where(seen.any(axis=-1, keepdims=True), y, np.float32(0)).astype(np.float32)


def softmax_or_zero(x, mask):
    nothing = np.isneginf(x if mask is None else np.where(mask, x, np.float32(-np.inf))).all(axis=-1, keepdims=True)
    return np.where(nothing, np.float32(0), softmax_of_visible(x, mask))


@pytest.mark.parametrize("function, word, exempt", [(softmax_or_zero, "masked=zero", []), (softmax_of_visible, "masked=", ["kernel.masked_row"])])
def test_a_masked_row_that_inference_did_not_ask_is_tried(function, word, exempt, inference_fits_none):
    found = judge.judge(Kernel("visible", "softmax", "float32", function, "", arguments=FEW), "none", PLENTY)
    assert found["verdict"] == "pass" and word in found["contract"] and found["exempt"] == exempt, found["text"]
    assert [f["claim"] for f in found["findings"]] == exempt


def attention_of_equal_stored_weights(q, k, v, mask, scale):
    """As JAX's in float16, where a query that sees no key weighs all of them alike; the other weights are not stored here."""
    keys, values = (np.repeat(a.astype(np.float32), q.shape[1] // a.shape[1], axis=1) for a in (k, v))
    scores = q.astype(np.float32) @ keys.swapaxes(-1, -2) * np.float32(scale)
    seen = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask, scores.shape)
    scores = np.where(seen, scores, np.float32(-1e30))
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    weights = np.where(seen.any(axis=-1, keepdims=True), weights, weights.astype(np.float16).astype(np.float32))
    return (weights @ values).astype(np.float16)


def test_equal_weights_that_are_stored_in_16_bits_are_those_of_a_masked_row(monkeypatch):
    unfit = softcheck.Report("fail", "", "", (), None, {"contract": None})
    monkeypatch.setattr(softcheck, "infer", lambda *_, **__: unfit)
    small = {"domain": "finite batch=1 heads=1|2 group=1 keys=1|5|17 queries=1|5 dim=1|16 values=1|5", "cases": 20}
    found = judge.judge(Kernel("stored", "attention", "float16", attention_of_equal_stored_weights, "", arguments=small), "none", PLENTY)
    assert found["verdict"] == "pass" and found["weak"] == ["weights=f16"], found["text"]
    assert "masked=uniform" in found["contract"] and found["exempt"] == []


def entropy_in_16_bits(x):
    """As torch's Categorical(logits): each step rounds to the format of the results."""
    m = x.max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        log_p = x - (np.log(np.exp(x - m).sum(axis=-1, keepdims=True, dtype=np.float16)) + m)
        return -(np.exp(log_p) * np.maximum(log_p, np.finfo(np.float16).min)).sum(axis=-1, dtype=np.float16)


def test_an_entropy_that_rounds_each_step_to_16_bits_has_a_contract(inference_fits_none):
    steps = {"domain": "n=2|17 rows=1|3 finite", "out_dtype": "f16"}
    found = judge.judge(Kernel("steps", "entropy", "float16", entropy_in_16_bits, "", arguments=steps), "none", PLENTY)
    assert found["verdict"] == "pass" and found["weak"] == ["acc=f16"], found["text"]
    assert "sum=tree" in found["contract"] and "entropy_from=logits" in found["contract"]


def attention_of_a_stored_scale(q, k, v, scale):
    """As MLX's on the CPU."""
    keys, values = (np.repeat(a.astype(np.float32), q.shape[1] // a.shape[1], axis=1) for a in (k, v))
    scores = ((q * np.float16(scale)).astype(np.float32) @ keys.swapaxes(-1, -2)).astype(np.float16).astype(np.float32)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return ((e / e.sum(axis=-1, keepdims=True)).astype(np.float16).astype(np.float32) @ values).astype(np.float16)


def test_a_query_that_is_stored_with_its_scale_has_a_contract(inference_fits_none):
    domain = {"domain": "finite nomask batch>=1 heads>=1 keys>=1 queries>=1 dim>=1 values>=1"}
    found = judge.judge(Kernel("stored", "attention", "float16", attention_of_a_stored_scale, "", arguments=domain), "none", PLENTY)
    assert found["verdict"] == "pass" and set(found["weak"]) == {"scale=stored", "scores=f16", "weights=f16"}, found["text"]


def test_a_check_has_what_inference_left_of_the_budget(monkeypatch, clock):
    given = []

    def check(function, op, dtype, *, budget, **arguments):
        given.append(budget)
        clock.now += 1
        return softcheck.Report("fail", "", "masked=nan", (), None, {"contract": None})

    monkeypatch.setattr(softcheck, "infer", check)
    monkeypatch.setattr(softcheck, "check", check)
    found = judge.judge(Kernel("unfit", "softmax", "float16", library.softmax, ""), "none", 2.5)
    assert (found["verdict"], found["ended"], found["contract"]) == ("undecided", "a check", None)
    assert given == [2.5, 1.5, 0.5]


@pytest.mark.parametrize("dtype, asked", [("bfloat16", True), ("float16", False)])
def test_an_arithmetic_that_flushes_is_asked_of_bfloat16_alone(dtype, asked, monkeypatch):
    contracts = []

    def check(function, op, dtype, *, contract=None, **arguments):
        contracts.append(contract or "")
        return softcheck.Report("fail", "", "masked=nan", (), None, {"contract": None})

    monkeypatch.setattr(softcheck, "infer", check)
    monkeypatch.setattr(softcheck, "check", check)
    judge.judge(Kernel("unfit", "softmax", dtype, library.softmax, ""), "none", 60)
    assert any(re.match("acc=b?f16 .* subnormal=flushed", contract) for contract in contracts) == asked, contracts


@pytest.mark.parametrize("name, message", [("nonsense", "libraries: need one of torch, "), ("no.module", "no.module cannot be asked: No module named")])
def test_a_library_that_is_not_there_is_told_in_a_line(name, message, tmp_path):
    command = [sys.executable, "-m", "softcheck.field", name, "--out", str(tmp_path)]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert asked.returncode == 2 and message in asked.stderr and "Traceback" not in asked.stderr
    assert not list(tmp_path.iterdir())


def test_the_data_have_no_input_of_a_claim_whose_failure_shrank_to_another_claims(swept):
    shrank = "Kernel.LayoutsAndNeighboursDoNotMatter fails on a larger case, which shrank to one of another claim"
    fields = {"claim": "kernel.softmax.row_sum", "verdict": "fail", "contract": None, "case": None, "got": None, "expected": None}
    broken = kernel(swept, "unshifted")
    more = {**broken, "findings": [*broken["findings"], {**fields, "details": [shrank]}]}
    own, same = data.rows_of({"library": "fake", "kernels": [broken, more]})
    assert own.inputs.startswith("element: row ") and same == own


def test_the_sweep_is_written(swept):
    written = json.loads((swept[1] / "fake.json").read_text())
    assert written["version"] == "1.0" and len(written["kernels"]) == 5


def test_a_sweep_goes_on_where_one_ended(swept, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE / "packages"), str(HERE.parent)]))
    known = json.loads((swept[1] / "fake.json").read_text())
    known["kernels"] = [k for k in known["kernels"] if k["kernel"] != "loses_nan"]
    (tmp_path / "fake.json").write_text(json.dumps(known))
    again = sweep.sweep("fake.library", tmp_path, PLENTY, "quick", domain=SMALL, go_on=True)
    assert len(again["kernels"]) == 5
    old = {k["kernel"]: k["seconds"] for k in known["kernels"]}
    new = {k["kernel"]: k["seconds"] for k in again["kernels"]}
    assert {name: new[name] for name in old} == old and "loses_nan" in new  # only that one was judged


def test_results_of_two_versions_are_not_mixed(swept, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE / "packages"), str(HERE.parent)]))
    known = json.loads((swept[1] / "fake.json").read_text())
    text = json.dumps({**known, "version": "0.0"})
    (tmp_path / "fake.json").write_text(text)
    with pytest.raises(ValueError, match="results of fake.library 0.0, .* is installed"):
        sweep.sweep("fake.library", tmp_path, PLENTY, "quick", domain=SMALL, go_on=True)
    assert (tmp_path / "fake.json").read_text() == text


@pytest.mark.parametrize(
    "text, said",
    [(None, "is no file"), ("# a page", "is none: a page has its table in docs/field/"), ("\t".join(data.COLUMNS), "has no contract")],
)
def test_a_table_without_contracts_is_refused(tmp_path, text, said):
    table = tmp_path / "table.tsv"
    if text is not None:
        table.write_text(text)
    command = [sys.executable, "-m", "softcheck.field", "scipy", "--known", str(table), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"--known: need a table as docs/field/field.tsv, got {table}, which {said}" in done.stderr


@pytest.mark.parametrize("module", [["softcheck.field"], ["softcheck", "run", "field"]])
@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--report", "none/table.tsv"], "--report: need a file in a folder that is there, got none/table.tsv"),
        (["--report", "."], "--report: need a file in a folder that is there, got ."),
        (["--pages", "none"], "--pages: need a folder, got none"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_sweep(module, arguments, said, tmp_path):
    command = [sys.executable, "-m", *module, "fake.library", *arguments]
    path = os.pathsep.join([str(HERE / "packages"), str(HERE.parent)])
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 2 and done.stderr.endswith(f"error: {said}\n") and "Traceback" not in done.stderr
    assert done.stdout == "" and not list(tmp_path.iterdir())


def test_contracts_of_a_table_are_judged_by(swept, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE / "packages"), str(HERE.parent)]))
    table = tmp_path / "table.tsv"
    data.write_rows(table, data.rows_of(swept[0]))
    contracts = data.contracts_in([table])
    assert ("fake", "softmax", "float32") in contracts and ("fake", "unshifted", "float32") not in contracts
    table.write_text(table.read_text().replace(contracts["fake", "softmax", "float32"], "exp=2ulp sum=sequential masked=nan", 1))
    again = sweep.sweep("fake.library", tmp_path, PLENTY, "quick", domain=SMALL, only="^softmax float32$", known=[table])
    assert [(k["kernel"], k["verdict"]) for k in again["kernels"]] == [("softmax", "pass")]
    assert "exp=2ulp" in again["kernels"][0]["contract"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_words_that_are_left_out_are_the_default(dtype):
    def contract(words):
        small = {"domain": "n=1 rows=1", "cases": 1, "isolation": "none", "progress": False}
        return softcheck.check(library.softmax, "softmax", dtype, contract=words, **small).contract

    words = ["acc=f64" if dtype == "float64" else "acc=f32", "exp=1ulp", "sum=sequential", "masked=nan", "theta=fused"]
    words += ["lse=centred", "entropy=any", "subnormal=flushed" if dtype == "float32" else "subnormal=kept"]
    assert data.without_defaults(words, dtype) == words[0]
    assert contract(" ".join(words)) == contract(words[0])


@pytest.fixture
def field(swept, tmp_path, monkeypatch):
    """A folder of a page, its table and two programs, one of which does not show its bug; written by the command."""
    folder = tmp_path / "field"
    folder.mkdir()
    bug = '"""fake 1.0: softmax(100) overflows.\n\nclass: wrong\nkernels: unshifted float32\n"""\n'
    (folder / "fake_bug.py").write_text(bug + 'print("softmax([1]) | 1 | 1")\nprint("softmax([100]) | nan | 1")\n')
    gone = '"""fake 1.0: is slow.\n\nclass: convention\nkernels: softmax float32\n"""\nimport sys\nsys.exit("gone")\n'
    (folder / "fake_gone.py").write_text(gone)
    blocks = [f"<!-- generated from field/fake.tsv: {what} -->\nold\n<!-- end -->\n" for what in ("run", "verdicts", "findings")]
    (tmp_path / "fake.md").write_text("# Fake\n\n" + "\nBy hand.\n\n".join(blocks))
    monkeypatch.setattr(sweep, "LIBRARIES", ("fake",))
    arguments = ["--no-sweep", "--out", str(swept[1]), "--report", str(folder / "fake.tsv"), "--remark", "a remark", "--pages", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["softcheck.field", *arguments])
    assert main() == 0
    return tmp_path


def test_a_page_is_made_from_its_data_and_programs(field):
    page = (field / "fake.md").read_text()
    assert page.count("By hand.") == 2 and "\nold\n" not in page and "| remark | a remark |" in page
    assert "5 pairs of kernel and dtype: 3 pass, 1 fail, 1 crash." in page
    assert "| fake 1.0 | 3 pass, 1 fail, 1 crash | [1](#1), [2](#2) |" in page
    assert '<a id="1"></a>**1. fake 1.0**: softmax(100) overflows.\n[Program](field/fake_bug.py): `softmax([100])` is nan, exact 1' in page
    assert "[Program](field/fake_gone.py): *not there in the version that is installed*." in page
    rows = {row.kernel: row for row in data.read_rows(field / "field" / "fake.tsv")}
    assert rows["loses_nan"].breaks == "nan_row" and rows["loses_nan"].grade == "pass"
    assert data.read_json(field / "field" / "findings.json")["fake_bug"] == ["softmax([1]) | 1 | 1", "softmax([100]) | nan | 1"]


def test_what_a_program_printed_stays_where_it_cannot_be_run(field):
    path = field / "field" / "fake_bug.py"
    path.write_text(path.read_text() + "import no_such_module\n")
    assert main() == 0
    assert data.read_json(field / "field" / "findings.json")["fake_bug"][1] == "softmax([100]) | nan | 1"


def test_a_kernel_stays_in_its_table(swept, tmp_path):
    """Attention with attributes, say, has another page than attention."""
    rows = data.rows_of(swept[0])
    own, other, new = tmp_path / "own.tsv", tmp_path / "other.tsv", tmp_path / "new.tsv"
    data.write_rows(own, rows[:2])
    data.write_rows(other, rows[1:3])
    assert data.rows_for(own, [swept[0]], ["entropy"]) == rows[:2]
    assert data.rows_for(own, [swept[0]], ["softmax"]) == rows[:2] + rows[3:]
    assert data.rows_for(new, [swept[0]], []) == rows[3:]


def test_a_table_is_not_emptied_where_there_are_no_results(field, tmp_path, monkeypatch):
    table = field / "field" / "fake.tsv"
    monkeypatch.setattr(sys, "argv", ["softcheck.field", "--no-sweep", "--out", str(tmp_path / "none"), "--report", str(table)])
    with pytest.raises(SystemExit, match="has no kernel for"):
        main()
    assert len(data.read_rows(table)) == 5


@pytest.mark.parametrize(
    "file, old, new",
    [
        ("fake.md", "3 pass", "4 pass"),
        ("fake.md", "is nan", "is 2"),
        ("field/fake.tsv", "\tcrash\t", "\tfail\t"),
        ("field/findings.json", "| nan |", "| 2 |"),
        ("field/runs.json", "a remark", "another"),
    ],
)
def test_a_wrong_figure_of_a_page_or_of_its_data_is_seen(field, file, old, new):
    page = field / "fake.md"
    assert report.renewed(page) == page.read_text()
    text = (field / file).read_text()
    (field / file).write_text(text.replace(old, new, 1))
    assert text.count(old) and report.renewed(page) != page.read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_pages_have_what_their_data_say(page):
    assert report.renewed(page) == page.read_text(), "renew them: python -m softcheck.field --no-sweep --pages docs"


def test_every_table_and_every_program_is_on_a_page():
    text = "".join(page.read_text() for page in PAGES)
    assert all(f"<!-- generated from field/{table.name}: verdicts -->" in text for table in TABLES)
    assert {path.stem: text.count(f"[Program](field/{path.name})") for path in REPRODUCTIONS} == {path.stem: 1 for path in REPRODUCTIONS}
    assert sorted(data.read_json(DOCS / "field" / "findings.json")) == [path.stem for path in REPRODUCTIONS]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_the_rows_of_a_table_agree_with_themselves(table):
    rows = data.read_rows(table)
    assert len({(row.library, row.kernel, row.dtype) for row in rows}) == len(rows)
    assert {row.library for row in rows} == set(data.read_json(table.parent / "runs.json")[table.stem]["libraries"])
    for row in rows:
        assert row.op in OPS and row.grade in report.GRADES, row
        assert all(re.fullmatch(r"(all: )?[a-z_]+: .+ -> \S+( not \S+)?", cell) for cell in row.inputs.split(" | ") if cell), row
        words = [] if row.contract == data.NONE else row.contract.split()
        assert words or row.grade not in ("pass", "weaker"), row
        if row.grade in ("pass", "weaker"):
            assert any(judge.is_weak(word, row.dtype) for word in words) == (row.grade == "weaker"), row
            assert data.without_defaults(words, row.dtype) == row.contract, row


def test_a_reproduction_that_names_nothing_is_refused(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text('"""It is wrong."""\n')
    with pytest.raises(ValueError, match="need 'LIBRARY VERSION: claim'"):
        report.read_reproduction(path)


@pytest.mark.parametrize("path", REPRODUCTIONS, ids=lambda path: path.stem)
def test_each_reproduction_names_its_library_and_needs_no_softcheck(path):
    found = report.read_reproduction(path)
    assert path.stem.startswith(found.library) and found.library in sweep.LIBRARIES
    modules = [
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module)])
    ]
    text = path.read_text()
    if found.library in sweep.WITHOUT_A_MODULE:
        assert f'version("{found.library}")' in text
    else:
        assert re.search(rf"\b(import|from) (.*\W)?{found.library}\b", text)
    assert "softcheck" not in modules

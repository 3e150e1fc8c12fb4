"""The field's sweeps, and the tables that they write."""

import json
import os
import pathlib
import subprocess
import sys
import time
import types

import pytest
from fake import library

import softcheck
from softcheck.field import data, judge, sweep
from softcheck.field.kernel import Kernel

HERE = pathlib.Path(__file__).parent
# Seconds for one pair: no load of a machine makes a judgement of few items take them.
PLENTY = 600
SMALL = "n<=33 rows<=3"


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



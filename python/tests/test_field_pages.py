"""The field's pages, their data and their programs."""

import ast
import html
import pathlib
import re
import sys

import pytest

from softcheck._ops import OPS
from softcheck.field import data, judge, report, survivors, sweep
from softcheck.field.__main__ import main

HERE = pathlib.Path(__file__).parent
DOCS = HERE.parent.parent / "docs"
REPRODUCTIONS = report.reproductions_in(DOCS / "field")
TABLES = sorted((DOCS / "field").glob("*.tsv"))
PAGES = report.pages_in(DOCS)
SURVIVORS = DOCS / "kernels"


@pytest.fixture
def field(swept, tmp_path, monkeypatch):
    """A folder of a page, its table and two programs, one of which does not show its bug; written by the command."""
    folder = tmp_path / "field"
    folder.mkdir()
    bug = '"""fake 1.0: softmax(100) overflows.\n\nclass: wrong\nkernels: unshifted float32\n"""\n'
    bug += 'print("softmax([1]) | 1 | 1")\nprint("softmax([100]) | nan | 1")\n'
    gone = '"""fake 1.0: is slow.\n\nclass: convention\nkernels: softmax float32\n"""\nimport sys\nsys.exit("gone")\n'
    (folder / "fake.md").write_text(f"# Programs\n\n## fake_bug\n```python\n{bug}```\n\n## fake_gone\n```python\n{gone}```\n")
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
    assert '<a id="1"></a>**1. fake 1.0**: softmax(100) overflows.\n[Program](field/fake.md#fake_bug): `softmax([100])` is nan, exact 1' in page
    assert "[Program](field/fake.md#fake_gone): *not there in the version that is installed*." in page
    rows = {row.kernel: row for row in data.read_rows(field / "field" / "fake.tsv")}
    assert rows["loses_nan"].breaks == "nan_row" and rows["loses_nan"].grade == "pass"
    assert data.read_json(field / "field" / "findings.json")["fake_bug"] == ["softmax([1]) | 1 | 1", "softmax([100]) | nan | 1"]


def test_what_a_program_printed_stays_where_it_cannot_be_run(field):
    path = field / "field" / "fake.md"
    path.write_text(path.read_text().replace("```\n\n## fake_gone", "import no_such_module\n```\n\n## fake_gone"))
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
    named = {each.name: text.count(f"[Program](field/{each.page.name}#{each.name})") for each in REPRODUCTIONS}
    assert len(named) == len(REPRODUCTIONS) and set(named.values()) == {1}, named
    assert sorted(data.read_json(DOCS / "field" / "findings.json")) == list(named)
    for page in {each.page for each in REPRODUCTIONS}:  # no program escapes the pattern
        assert page.read_text().count("\n```") == 2 * sum(each.page == page for each in REPRODUCTIONS)


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
    path = tmp_path / "bad.md"
    path.write_text('# Programs\n\n## bad\n```python\n"""It is wrong."""\n```\n')
    with pytest.raises(ValueError, match="bad: need 'LIBRARY VERSION: claim'"):
        report.read_reproductions(path)


@pytest.mark.parametrize("found", REPRODUCTIONS, ids=lambda found: found.name)
def test_each_reproduction_names_its_library_and_needs_no_softcheck(found):
    text = found.text
    assert found.name.startswith(found.library) and found.library in sweep.LIBRARIES
    modules = [
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module)])
    ]
    if found.library in sweep.WITHOUT_A_MODULE:
        assert f'version("{found.library}")' in text
    else:
        assert re.search(rf"\b(import|from) (.*\W)?{found.library}\b", text)
    assert "softcheck" not in modules


# The picture of docs/kernels/survivors.md and the table that its page is made from are of one run.


def texts(picture):
    """What the picture says, from the top: names, and the numbers behind the bars."""
    found = [html.unescape(text) for text in re.findall(r'font-size="12"[^>]*text-anchor="end"[^>]*>([^<]*)<', picture)]
    return [text for text in found if not re.fullmatch(r"\d+/\d+", text)], [text for text in found if re.fullmatch(r"\d+/\d+", text)]


def disagreements(picture, origin, lines):
    names, counts = texts(picture)
    due = [text for line in lines for text in (f"{line.accepted}/{line.bugs}", f"{line.rejected}/{line.correct}")]
    said = f"{origin[0]}: {origin[1]}" in html.unescape(picture)
    return [what for what, right in (("names", names == [line.name for line in lines]), ("counts", counts == due), ("origin", said)) if not right]


def test_the_picture_is_of_the_run_of_the_table():
    picture = (SURVIVORS / "survivors.svg").read_text()
    origin, lines = survivors.read_lines(SURVIVORS / "survivors.tsv")
    assert lines[-1].kind == "judge" and lines[-1].accepted == lines[-1].rejected == 0 < lines[-1].bugs
    assert disagreements(picture, origin, lines) == []
    assert disagreements(picture.replace(">99/120<", ">98/120<").replace(f">{lines[0].accepted}/", ">0/", 1), origin, lines) == ["counts"]
    assert disagreements(picture.replace(origin[0], "another run"), origin, lines) == ["origin"]
    assert disagreements(picture, origin, lines[1:])[:1] == ["names"]


def test_the_first_page_shows_the_tests_of_softmax_alone():
    picture = (SURVIVORS / "survivors_softmax.svg").read_text()
    origin, lines = survivors.read_lines(SURVIVORS / "survivors.tsv")
    of_softmax = [line for line in lines if (line.op, line.dtype) == ("softmax", "f32")] + lines[-1:]
    assert len(of_softmax) > 15 and disagreements(picture, origin, of_softmax) == []


def test_every_criterion_has_its_sources_on_a_page():
    page = (SURVIVORS / "survivor_sources.md").read_text()
    for name in ("published.tsv", "checkers.tsv"):
        rows = survivors.block(SURVIVORS.parents[1] / "judge" / "survivors" / name, "sources")
        assert len(rows) > 20 and all(row in page for row in rows)


def test_a_summary_has_the_ends_of_each_group():
    def line(name, kind, op, accepted, bugs=10):
        return survivors.Line(name, kind, op, "f32", "-", accepted, bugs, 0, 5, "")

    lines = [line("a", "test", "softmax", 9), line("b", "test", "softmax", 3), line("c", "checker", "attention", 4), line("softcheck", "judge", "all", 0)]
    assert list(survivors._summary(lines))[2:] == [
        "| tests of softmax | 2 | 3 of 10 (b) | 9 of 10 (a) |",
        "| tools, asked about attention | 1 | 4 of 10 (c) | 4 of 10 (c) |",
        "| softcheck | 1 | 0 of 10; of 5 correct kernels it rejects 0 | |",
    ]

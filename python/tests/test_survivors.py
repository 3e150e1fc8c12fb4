"""The picture of docs/kernels/survivors.md and the table that its page is made from are of one run."""

import html
import pathlib
import re

from softcheck.field import survivors

FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "kernels"


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
    picture = (FOLDER / "survivors.svg").read_text()
    origin, lines = survivors.read_lines(FOLDER / "survivors.tsv")
    assert lines[-1].kind == "judge" and lines[-1].accepted == lines[-1].rejected == 0 < lines[-1].bugs
    assert disagreements(picture, origin, lines) == []
    assert disagreements(picture.replace(">99/120<", ">98/120<").replace(f">{lines[0].accepted}/", ">0/", 1), origin, lines) == ["counts"]
    assert disagreements(picture.replace(origin[0], "another run"), origin, lines) == ["origin"]
    assert disagreements(picture, origin, lines[1:])[:1] == ["names"]


def test_the_first_page_shows_the_tests_of_softmax_alone():
    picture = (FOLDER / "survivors_softmax.svg").read_text()
    origin, lines = survivors.read_lines(FOLDER / "survivors.tsv")
    of_softmax = [line for line in lines if (line.op, line.dtype) == ("softmax", "f32")] + lines[-1:]
    assert len(of_softmax) > 15 and disagreements(picture, origin, of_softmax) == []


def test_every_criterion_has_its_sources_on_a_page():
    page = (FOLDER / "survivor_sources.md").read_text()
    for name in ("published.tsv", "checkers.tsv"):
        rows = survivors.block(FOLDER.parents[1] / "judge" / "survivors" / name, "sources")
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

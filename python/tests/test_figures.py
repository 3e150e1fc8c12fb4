"""Figures of pages have an origin: a data file, a command, or the machine and the day of a measurement. Tests compare those of data files."""

import json
import math
import re

import pytest
from test_pages import LONG, PAGES, ROOT, name

FIGURE = re.compile(r"(?<![\w.=^-])\d+\.\d+(?![\w.])")
ORIGINS = {
    "a data file": re.compile(r"\]\([^)]*\.(csv|tsv|txt|json)\)"),
    "a proof": re.compile(r"`theory/proofs/[^`]*\.v`"),
    "a command": re.compile(r"`[^`\n]*(softcheck |\./run |bench_|python -m |\.py)[^`\n]*`"),
    "a day": re.compile(r"\b\d{1,2} (January|February|March|April|May|June|July|August|September|October|November|December) 20\d\d\b"),
}


# Pages and sections that derive bounds step by step.
DERIVED = re.compile(r"(docs/tolerances|docs/proofs|theory/)|docs/kernels/attention.md: ## Attributes")


def tables_without_origin(text):
    """The headings of sections with a table of figures and no origin, there or in a section above. Generated tables are left out."""
    text = re.sub(r"^<!-- generated.*?^<!-- end -->$", "", text, flags=re.M | re.S)
    text = re.sub(r"^```.*?^```$", lambda block: f"`{' '.join(block[0].split('`'))}`".replace("\n", " "), text, flags=re.M | re.S)
    found, above = [], {}
    for section in re.split(r"^(?=#+ )", text, flags=re.M):
        depth = len(re.match("#*", section)[0])
        above = {level: has for level, has in above.items() if 1 < level < depth}
        above[depth] = any(origin.search(section) for origin in ORIGINS.values())
        rows = [line for line in section.splitlines() if line.startswith("|") and len(FIGURE.findall(line)) > 1]
        if len(rows) > 1 and not any(above.values()):
            found.append(section.splitlines()[0])
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if name(page) not in LONG], ids=name)
def test_a_table_of_figures_says_where_it_is_from(page):
    found = [heading for heading in tables_without_origin(page.read_text()) if not DERIVED.match(f"{name(page)}: {heading}")]
    assert found == []


def test_a_table_without_an_origin_is_seen():
    table = "| n | time |\n|---|---|\n| 1.5 | 2.5 |\n| 2.5 | 3.5 |\n"
    assert tables_without_origin(f"# A\n\n## Measured\n\n{table}\n## More\n\n`softcheck run growth` prints it.\n") == ["## Measured"]
    for origin in ("`softcheck run growth`", "```\n./run bench\n```", "26 November 2026", "[data](growth.csv)"):
        assert tables_without_origin(f"## A\n\n{table}\n{origin}\n") == []


# The first page.

FIRST = (ROOT / "README.md").read_text()
FINDINGS = json.loads((ROOT / "docs/field/findings.json").read_text())


def numbers(text):
    return [float(each) for each in re.findall(r"-?(?:inf|nan|\d+\.?\d*(?:e-?\d+)?)", text)]


def is_found(library, got, exact):
    """Did a program of the library print these two, to the digits that the page has?"""
    lines = [line.split(" | ")[1:] for stem, all_lines in FINDINGS.items() if stem.startswith(library) for line in all_lines]
    return any(numbers(line[0])[:1] == [got] and any(math.isclose(exact, each, rel_tol=5e-4) for each in numbers(line[1])[:1]) for line in lines)


def test_the_findings_on_the_first_page_are_those_of_the_programs():
    rows = re.findall(r"^\| `.*\(([\w ]+?) ([\d.]+)\) \| (\S+) \| (\S+) \|$", FIRST, re.M)
    libraries = {"torch": "torch", "ONNX Runtime": "onnxruntime", "ggml": "libggml"}
    versions = json.loads((ROOT / "docs/field/runs.json").read_text())["field"]["libraries"]
    assert len(rows) == 3 and not is_found("torch", math.inf, 12)
    for library, version, got, exact in rows:
        assert versions[libraries[library]].startswith(version), library
        assert is_found(libraries[library], float(got), float(exact)), library


def test_the_first_page_counts_the_libraries_of_the_field():
    named = re.search(r"\[Wrong results in (\w+) libraries\]\(docs/field.md\) \(([^)]*)\)", " ".join(FIRST.split()))
    counted = {line.split("\t")[0] for line in (ROOT / "docs/field/field.tsv").read_text().splitlines()[1:]}
    assert len(named[2].split(", ")) == len(counted)
    assert named[1] == {9: "nine", 10: "ten", 11: "eleven", 12: "twelve", 13: "thirteen"}[len(counted)]

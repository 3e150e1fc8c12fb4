"""Figures of pages have an origin: a data file, a command, or the machine and the day of a measurement. Tests compare those of data files."""

import csv
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


# The paper's experiments. Each line of these tables follows from the file that the command named in it wrote.

EXPERIMENTS = ROOT / "docs/experiments"


def rows_of(file):
    lines = (EXPERIMENTS / file).read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def grouped(rows, *keys):
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups.values()


def percent(text):
    """One digit after the point; 100 has none."""
    return f"{float(text):.1f}".replace("100.0", "100")


def sensitivity(rows):
    for reading in grouped(rows, "reading"):
        known = [row for row in reading if row["paper_baseline"]]
        misses = [float(row[way]) - float(row[f"paper_{way}"]) for row in known for way in ("baseline", "adaptive")]
        cells = [f"{percent(row['baseline'])} -> {percent(row['adaptive'])}" for row in known]
        yield [*cells, f"{math.hypot(*misses) / math.sqrt(len(misses)):.2f}"]


def variants(rows):
    """In place of softmax, sink and softpick have its numbers; trained, softpick learned nothing. The page says so in words."""
    for head in grouped(rows, "head", "trained"):
        if head[0]["head"] != "softpick" and (head[0]["head"], head[0]["trained"]) != ("sink", "no"):
            at = {row["n"]: f"{percent(row['accuracy'])} ({float(row['largest']):.2f})" for row in head}
            yield [at[size] for size in ("16", "256", "1024", "4096", "16384")]


def temperature_fits(rows):
    for row in rows:
        if row["form"] == "quartic":
            samples = row["samples"].removeprefix("0")  # the published one has none
            yield [samples, *(f"{float(row[f'H^{degree}']):.3f}" for degree in range(4)), f"{float(row['H^4']):.4f}"]


def temperature_curves(rows):
    """The two quartics at 1 to 4 nats, and the entropy from which they are below 1."""
    for row in rows[:2]:
        beta = lambda entropy, row=row: sum(float(row[f"H^{degree}"]) * entropy**degree for degree in range(5))  # noqa: E731
        end = next(nats / 1e5 for nats in range(800_000, 0, -1) if beta(nats / 1e5) >= 1)
        yield [*(f"{beta(nats):.2f}" for nats in range(1, 5)), end]


HEADS = ("softmax", "published", "our quartic", "our line")


def random_sets(rows):
    for row in rows:
        if row["n"] in ("16", "256", "1024", "4096", "16384", "65536"):
            cells = [f"{float(row[f'accuracy {head}']):.1f} ({float(row[f'largest {head}']):.3f})" for head in HEADS]
            yield [row["n"], *cells, f"{float(row['accuracy hard maximum']):.1f}"]


def crowded_sets(rows):
    for row in rows[1:]:
        yield [row["n"], f"{float(row['entropy']):.2f}", *(percent(row[f"accuracy {head}"]) for head in HEADS)]


def answers(rows):
    """Whole responses of the three uses of the temperature, the p of the last two against the first, right characters."""
    for row in rows:
        uses = [f"{float(row[f'{use} whole']):.1f} +- {float(row[f'{use} whole half width']):.1f}" for use in ("plain", "inference", "both")]
        tests = [row[f"p {use} whole"] and f"{float(row[f'p {use} whole']):.1g}" for use in ("inference", "both")]
        yield [row["n"], *uses, *tests, *(percent(row[f"{use} characters"]) for use in ("plain", "inference", "both"))]


TABLES = {  # file: page, lines, the command
    "sensitivity.csv": ("README.md", sensitivity, "sensitivity --sets 2048 --items 2097152"),
    "variants.csv": ("README.md", variants, "variants"),
    "figure_6_fits.csv": ("figures.md", temperature_fits, "figure-6"),
    "figure_6_sizes.csv": ("figures.md", random_sets, "figure-6"),
    "figure_6_crowded.csv": ("figures.md", crowded_sets, "figure-6"),
    "figure_8.csv": ("language.md", answers, "figure-8"),
}


def lines_that_lack(page, lines):
    """The lines that end no row of a table on the page."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    return [line for line in lines if not any(line == row[-len(line) :] for row in rows)]


@pytest.mark.parametrize("file", TABLES)
def test_a_table_of_an_experiment_is_that_of_its_file(file):
    page, lines, command = TABLES[file]
    text = (EXPERIMENTS / page).read_text()
    written = list(lines(rows_of(file)))
    assert len(written) > 3
    assert lines_that_lack(text, written) == []
    changed = [*written[-1][:-1], written[-1][-1] + "1"]
    assert lines_that_lack(text, [changed]) == [changed]
    assert f"softcheck run {command}`" in text and f"]({file})" in text
    name, _, options = command.partition(" ")
    made_by = re.search(r"^# softcheck run (.*)$", (EXPERIMENTS / file).read_text(), re.M)[1]
    assert made_by.split()[0] == name and options in made_by


def test_the_curves_of_the_temperature_are_those_of_their_coefficients():
    text = (EXPERIMENTS / "figures.md").read_text()
    for cells, name in zip(temperature_curves(rows_of("figure_6_fits.csv")), ("published", "pooled"), strict=True):
        shown = re.search(rf"^\| {name} \| {' [|] '.join(cells[:-1])} \| ([\d.]+) nats \|$", text, re.M)
        assert shown and shown[1] == f"{cells[-1]:.{len(shown[1].partition('.')[2])}f}", (name, cells)


def test_the_prompts_of_figure_3_are_as_many_as_its_rows(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments/figures"))
    from prompts import figure_3

    page = (ROOT / "docs/experiments/figures.md").read_text()
    largest = int(re.search(r"prompts\.py \S+ figure-3 (\d+)", page)[1])
    rows = re.findall(r"^\| \d+, ", (ROOT / "docs/experiments/figure_3.txt").read_text(), flags=re.M)
    assert len(list(figure_3(str.split, largest))) == len(rows) > 0

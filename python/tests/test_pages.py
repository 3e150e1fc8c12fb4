"""The repository's pages: short paragraphs, short pages, and links that hold."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# Not a folder of somebody's build, of an environment, or of Git.
PAGES = [
    page
    for folder in (ROOT, *(ROOT / name for name in ("docs", "experiments", "judge", "kernels", "models", "proptests", "python", "theory")))
    for page in sorted(folder.glob("*.md") if folder == ROOT else folder.rglob("*.md"))
]
# History, of which each entry is a paragraph.
LONG = {"CHANGELOG.md", "docs/decisions.md"}
WORDS = 90
BYTES = 30 * 1024
OTHER_BLOCK = re.compile(r"\||#|!\[|<|-{3,}")
ITEM = re.compile(r"([-*+]|\d+\.)\s")


def prose(text):
    """The lines outside code and generated parts; an empty line stands for each of these."""
    text = re.sub(r"^<!-- generated.*?^<!-- end -->$", "", text, flags=re.M | re.S)
    return re.sub(r"^( *)(```|~~~).*?^ *\2$", "", text, flags=re.M | re.S).splitlines()


def paragraphs(text):
    """Blocks of text between empty lines. An item of a list is one by itself; a table or heading is none."""
    found = [[]]
    for line in map(str.strip, prose(text)):
        if not line or OTHER_BLOCK.match(line):
            found.append([])
        elif ITEM.match(line):
            found.append([line])
        else:
            found[-1].append(line)
    return [" ".join(block) for block in found if block]


def anchors(text):
    """The names that GitHub gives the headings of a page: the second of a name ends with -1."""
    found = []
    for line in prose(text):
        if re.match(r"#+ ", line):
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line.lstrip("# ")).lower()
            found.append(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return {each if not found[:i].count(each) else f"{each}-{found[:i].count(each)}" for i, each in enumerate(found)}


def links(page):
    """Its links to other files, as (file, anchor); an empty file is the page itself."""
    targets = re.findall(r"\]\(([^)\s]+)\)", "\n".join(prose(page.read_text())))
    return [target.partition("#")[::2] for target in targets if not re.match(r"[a-z]+:", target)]


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_paragraph_is_short(page):
    if name(page) in LONG:
        pytest.skip("history, or generated")
    long = [block for block in paragraphs(page.read_text()) if len(block.split()) > WORDS]
    assert not long, "\n".join(f"{len(block.split())} words: {block[:100]} ..." for block in long)


@pytest.mark.parametrize("page", [page for page in PAGES if name(page).startswith("docs/")], ids=name)
def test_a_page_is_short(page):
    if name(page) in LONG:
        pytest.skip("history")
    assert len(page.read_bytes()) <= BYTES


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_hold(page):
    for path, anchor in links(page):
        file = page.parent / path if path else page
        assert file.exists(), path
        assert not anchor or file.suffix != ".md" or anchor in anchors(file.read_text()), f"{path}#{anchor}"


def test_a_reader_of_the_first_page_comes_to_every_other():
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop().resolve()
        if page.suffix == ".md" and page not in reached:
            reached.add(page)
            ahead += [page.parent / path for path, _ in links(page) if path]
    assert {name(page) for page in PAGES} - {name(page) for page in reached} == set()


def test_the_checks_see_what_they_are_for():
    wall = "word " * (WORDS + 1)
    assert [len(block.split()) for block in paragraphs(f"# A\n{wall}\n\n- {wall}\n- b\n  c\n\n| {wall} |\n```\n{wall}\n```\n")] == [91, 92, 3]
    assert anchors("## What it is: `--infer`, [a](b.md)\n## C\n## C++\n") == {"what-it-is---infer-a", "c", "c-1"}


ADDRESS = re.compile(r"(?:repository: |uses: |github\.com/)(\w[\w.-]*/softcheck)(?![\w/-])")


def addresses_of(root):
    """The repositories of softcheck that its files name, by file."""
    kinds = {".md", ".yml", ".toml", ".json", ".cff", ".py", ".opam", ".cmake"}
    files = [file for file in root.rglob("*") if file.suffix in kinds and not {"build", ".git"} & set(file.relative_to(root).parts)]
    return {str(file.relative_to(root)): found for file in files if (found := set(ADDRESS.findall(file.read_text(errors="replace"))))}


def test_the_address_of_the_repository_is_that_of_the_citation():
    found = addresses_of(ROOT)
    (address,) = found["CITATION.cff"]
    assert {"CITATION.cff", "docs/quick_start.md"} <= set(found)
    assert {file: names for file, names in found.items() if names != {address} and not file.startswith("python/tests/")} == {}


def test_another_address_is_seen(tmp_path):
    (tmp_path / "a.md").write_text("uses: someone/softcheck@v1, git clone https://github.com/other/softcheck.git, not uses: ./softcheck\n")
    assert addresses_of(tmp_path) == {"a.md": {"someone/softcheck", "other/softcheck"}}

"""The site of ./run pages: every link holds, and the navigation is that of docs/README.md."""

import html.parser
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import urllib.parse

import pytest

pytest.importorskip("material", reason="no mkdocs-material (python/requirements/pages.txt)")
ROOT = pathlib.Path(__file__).parents[2]


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.places, self.links, self.loaded, self.text = set(), [], [], ""
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.places.add(attributes.get("id"))
        for name in {"href", "src"} & attributes.keys():
            (self.links if tag == "a" else self.loaded).append(attributes[name])

    def handle_data(self, data):
        self.text += data


def build(root, site):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(root / "mkdocs.yml"), "--site-dir", str(site)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def broken(site):
    """What a page of the site links to or loads, and the site has not."""
    pages = {file: Page(file) for file in site.rglob("*.html") if file.name != "404.html"}
    assert pages
    found = []
    for file, page in pages.items():
        for link in page.links + page.loaded:
            url = urllib.parse.urlsplit(link)
            if url.scheme and link in page.links:
                continue
            target = (file.parent / urllib.parse.unquote(url.path)).resolve() if url.path else file
            target = target / "index.html" if target.is_dir() else target
            anchors = pages[target].places if target in pages else set()
            if url.scheme or not target.exists() or url.fragment and urllib.parse.unquote(url.fragment) not in anchors:
                found.append(f"{file.relative_to(site)}: {link}")
    return found


def small(tmp_path, pages):
    """The site of these pages; docs/README.md leads to none."""
    for name, text in {"docs/README.md": "# All\n", **pages}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    for hook in ("findings_hook.py", "mkdocs_hook.py"):
        shutil.copy(ROOT / "docs" / hook, tmp_path / "docs")
    return build(tmp_path, tmp_path / "site")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    made = build(ROOT, folder)
    assert made.returncode == 0, made.stderr
    return folder


def test_the_site_is_whole_and_in_the_order_of_the_doors(site):
    assert broken(site) == []
    first = (site / "index.html").read_text()
    assert (ROOT / "README.md").read_text().split("\n\n")[1] in Page(site / "index.html").text
    titles = re.findall(r'<span class="md-ellipsis">\s*(.*?)\s*(?:<|$)', first[first.index('<div class="md-sidebar md-sidebar--primary') :], re.M)
    doors = [a or b for a, b in re.findall(r"^## (.*)|\[([^]]*)\]\(", (ROOT / "docs/README.md").read_text(), re.M)]
    ahead = iter(titles)
    assert [title for title in doors if title.lower() not in map(str.lower, ahead)] == []
    assert "(prefers-color-scheme: dark)" in first
    theorems = Page(site / "theory/proofs/axioms.tsv.html").text
    assert "lemma_2_1.upper" in theorems and "adaptive_temperature.maximum" in theorems


def test_each_finding_has_a_picture(site):
    pages = [page for page in (ROOT / "docs").glob("field*.md") if "[Program](" in page.read_text()]
    shown = {page.stem: (site / f"docs/{page.stem}.html").read_text().count('<figure class="finding"') for page in pages}
    assert shown == {page.stem: page.read_text().count("[Program](") for page in pages} and sum(shown.values()) > 50


@pytest.mark.parametrize(
    "got, exact, widths, texts",
    [
        ("0.5", "1: of equal values", [104.4, 208.8], ["0.5", "1"]),
        ("-2.1", "-2", [208.8, 92.8], ["-2.1", "-2"]),  # close: the bars begin at a gap
        ("inf (float32: 11.1)", "11.1", [232, 69.6], ["inf", "11.1"]),
        ("0.0", "nan: it depends on the NaN", [232], ["0", "NaN"]),
        ("[1, 0.25]", "[nan nan]", [60] * 4, ["1", "0.25", "NaN", "NaN"]),
        ("signal 11", "[[0.0]]", [], ["signal 11", "0"]),
        ("RuntimeError", "undefined: no row", [], []),
    ],
)
def test_a_picture_shows_what_a_program_printed(got, exact, widths, texts):
    drawn = runpy.run_path(str(ROOT / "docs/findings_hook.py"))["picture"](got, exact)
    assert [float(width) for width in re.findall(r'<rect .*?width="([\d.]+)"', drawn)] == widths
    assert [text for text in re.findall(r">([^<]+)</text>", drawn) if text not in ("got", "exact")] == texts


@pytest.mark.parametrize("width", [1280, 390])
def test_main_pages_fit_a_screen(site, tmp_path, width):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not browser:
        pytest.skip("no chromium")
    pages = ["index", "docs/index", "docs/quick_start", "docs/kernels/gallery", "docs/kernels/judging", "docs/field", "theory/index"]
    frames = "".join(f'<iframe src="{page}.html" width="{width}"></iframe>' for page in pages)
    script = """onload = () => document.title = [...document.querySelectorAll("iframe")].map(({contentDocument: page, clientWidth}) =>
      page.querySelector("h1") && page.documentElement.scrollWidth <= clientWidth).join()"""
    (site / "frames.html").write_text(f"{frames}<script>{script}</script>")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", f"--user-data-dir={tmp_path}"]
    command = [browser, *flags, "--dump-dom", (site / "frames.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout
    (site / "frames.html").unlink()
    if "<html" not in shown:
        pytest.skip("chromium does not start")
    assert re.findall("<title>(.*)</title>", shown) == [",".join(["true"] * len(pages))]


@pytest.mark.parametrize("target", ["docs/none.md", "docs/README.md#none", "none.c"])
def test_a_broken_link_is_refused(tmp_path, target):
    made = small(tmp_path, {"README.md": f"# A\n\n[b]({target}) [all](docs/README.md)\n"})
    assert made.returncode == 1 and target.partition("#")[0] in made.stderr


def test_a_page_reads_as_on_github(tmp_path):
    readme = "# A\n\n[b](docs/b.md#c-1), [source](code/x.h), [folder](code), [all](docs/README.md):\n- item\n\nThen:\n1. one\n   - inner\n\n```\n   [no](link.md)\n```\n"
    made = small(tmp_path, {"README.md": readme, "docs/b.md": "# B\n\n## C\n\n## C++\n\n[up](../README.md)\n", "code/x.h": "int f(void);\n"})
    assert made.returncode == 0, made.stderr
    site = tmp_path / "site"
    assert broken(site) == []
    assert "int f(void);" in Page(site / "code/x.h.html").text
    assert "code/x.h.html" in Page(site / "index.html").links and "x.h" in Page(site / "code.html").text
    first = (site / "index.html").read_text()
    assert "<li>item</li>" in first
    assert re.search(r"<li>one\s*<ul>\s*<li>inner", first)
    assert re.search(r"(?<! ) {3}\[no\]\(link.md\)", Page(site / "index.html").text)

"""A hook of MkDocs: the site is README.md and all that it leads to, in the order of docs/README.md.

Files keep their places, so links between pages hold as on GitHub. A source or folder that a page links to gets a page that shows it.
"""

import itertools
import pathlib
import posixpath
import re
import subprocess

from markdown.extensions import toc
from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).parents[1]
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^((`{3,}|~{3,})[^\n]*\n.*?^\2$)", re.M | re.S)
# What the site shows in place of a file: the output of a command.
SHOWN = {"theory/proofs/axioms.tsv": ["sh", "proptests/tests/proofs/theorems_page.sh", "theory/proofs"]}
LANGUAGES = {".h": "c", ".hpp": "cpp", ".v": "coq"}


def meant(page, target):
    """The file that a link of the page names, from the root."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def place(path):
    """Where the site has the file: a source behind its own name."""
    return path if path.endswith((".md", ".svg")) or not (ROOT / path).exists() else path + ".md"


def text_of(path):
    file = ROOT / path
    if path.endswith(".md"):
        return file.read_text()
    if path in SHOWN:
        return subprocess.run(SHOWN[path], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    if file.is_dir():
        body = "".join(f"- [{each.name}]({file.name}/{each.name})\n" for each in sorted(file.iterdir()) if each.is_file())
    else:
        body = f"~~~~~~ {LANGUAGES.get(file.suffix, file.suffix[1:])}\n{file.read_text()}\n~~~~~~\n"
    return f"---\nsearch: {{exclude: true}}\n---\n\n# {file.name}\n\n{body}"


def prose(text, change):
    """The text with what is no block of code changed."""
    parts = FENCE.split(text)
    return "".join(part if i % 3 else change(part) for i, part in enumerate(parts) if i % 3 < 2)


def capital(title):
    return title if "_" in title else title[:1].upper() + title[1:]


def navigation(files):
    """Headings are sections; in a row of several links its first cell is one, too. A second link to a page goes to a place on it."""
    nav = [{"softcheck": "README.md"}, {"All pages": "docs/README.md"}]
    section, seen = nav, {"docs/README.md"}
    for line in (ROOT / "docs/README.md").read_text().splitlines():
        if line.startswith("## "):
            section = []
            nav.append({line[3:]: section})
        links = []
        for title, target, anchor in re.findall(r"\[([^]]*)\]\(([^)\s#:]*)(#[^)\s]*)?\)", line):
            path = meant("docs/README.md", target or "README.md")
            links.append({capital(title): files[path].url + anchor if anchor and path in seen else place(path)})
            seen.add(path)
        section += [{capital(line.split("|")[1].strip()): links}] if line.startswith("|") and len(links) > 1 else links
    return nav


def unique(anchor, taken, *_):
    """GitHub's name of a second heading."""
    free = next(each for each in itertools.chain([anchor], (f"{anchor}-{i}" for i in itertools.count(1))) if each not in taken)
    taken.add(free)
    return free


def on_config(config):
    toc.unique = unique
    slug = lambda text, _: re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")  # noqa: E731
    config.mdx_configs["toc"] = {"slugify": slug, "permalink": True}
    return config


def on_files(files, config):
    found, ahead = {}, ["README.md"]
    while ahead:
        path = ahead.pop()
        if path in found or not (ROOT / path).exists():
            continue
        if path.endswith(".svg"):
            found[path] = File.generated(config, path, abs_src_path=str(ROOT / path))
            continue
        text = text_of(path)
        found[path] = File.generated(config, place(path), content=text)
        prose(text, lambda part: ahead.extend(meant(path, target) for _, target, _ in LINK.findall(part)) or "")
    config.nav = navigation(found)
    return Files([*(each for each in files if each.src_dir != config.docs_dir), *found.values()])


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri

    def change(text):
        text = re.sub(r"^ {2,3}(?=\S)", "    ", text, flags=re.M)  # of an item of a list
        text = re.sub(r"^(?![-*+] |\d+\. |[\s|#])(.+\n)(?=([-*+]|1\.) )", r"\1\n", text, flags=re.M)  # a list ends a paragraph
        return LINK.sub(lambda link: link[1] + link[2] + place(meant(here, link[2])).removeprefix(meant(here, link[2])) + link[3], text)

    return prose(markdown, change)

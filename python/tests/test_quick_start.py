"""The Python of README.md, docs/quick_start.md and python/README.md, as it stands there."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# A block that imports what it uses runs alone. The others continue a reader's own program.
BLOCKS = {
    f"{page}-{i}": code
    for page in ("README.md", "docs/quick_start.md", "python/README.md")
    for i, code in enumerate(re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S))
    if re.search(r"^import .*\bsoftcheck\b", code, re.M)
}
# The block that raises what README shows below it.
FAILS = "README.md-0"
# What the others print, where they print a verdict.
SAYS = {
    "docs/quick_start.md-0": r"\bpass\b",
    "docs/quick_start.md-3": r"\bpass\b",
    "python/README.md-0": r"kernel\.softmax\.element(.*\n)*.*\bpass$",
}


def test_the_pages_have_the_blocks_that_the_tests_know():
    assert {FAILS, *SAYS} <= set(BLOCKS)
    assert {page.split("-")[0] for page in BLOCKS} == {"README.md", "docs/quick_start.md", "python/README.md"}


def test_the_first_page_is_short():
    text = (ROOT / "README.md").read_text()
    assert len(text.encode()) <= 8192
    assert [line for line in text.splitlines() if len(line) > 160 and not line.startswith("|")] == []


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_runs_as_it_stands(name, tmp_path):
    code = BLOCKS[name]
    for library in ("torch", "triton", "jax"):
        if re.search(rf"^import .*\b{library}\b", code, re.M):
            pytest.importorskip(library)
    file = tmp_path / "block.py"  # Triton reads a kernel's source from its file
    file.write_text(code)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=280)
    if name == FAILS:
        shown = re.search(r"^```\n(softcheck\.report\.Violation.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[1]
        parts = [re.escape(part) for part in shown.split("...\n")]
        assert re.search(r"^(.*\n)*".join(parts), done.stderr, re.M), done.stderr
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(SAYS.get(name, ""), done.stdout.rstrip()), done.stdout

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
# What such a block prints, where it prints a verdict.
SAYS = {
    "README.md-0": r"kernel\.logsumexp\.value .* fail (.*\n)*fail: no standard contract fits",
    "docs/quick_start.md-0": r"\bpass\b",
    "docs/quick_start.md-2": r"\bpass\b",
    "python/README.md-0": r"kernel\.softmax\.element(.*\n)*.*\bpass$",
}


def test_the_pages_have_the_blocks_that_the_tests_know():
    assert set(SAYS) <= set(BLOCKS)
    assert {page.split("-")[0] for page in BLOCKS} == {"README.md", "docs/quick_start.md", "python/README.md"}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_runs_as_it_stands(name, tmp_path):
    code = BLOCKS[name]
    for library in ("torch", "triton", "jax"):
        if re.search(rf"^import .*\b{library}\b", code, re.M):
            pytest.importorskip(library)
    file = tmp_path / "block.py"  # Triton reads a kernel's source from its file
    file.write_text(code)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(SAYS.get(name, ""), done.stdout.rstrip()), done.stdout

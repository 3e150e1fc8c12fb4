"""The Python of docs/quick_start.md and python/README.md, as it stands there."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def blocks(path):
    text = (ROOT / path).read_text()
    for heading, section in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.M | re.S):
        for i, code in enumerate(re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)):
            yield pytest.param(code, id=f"{heading}-{i}")


@pytest.mark.parametrize("code", list(blocks("docs/quick_start.md")))
def test_quick_start(code, tmp_path):
    for library in ("torch", "triton", "jax"):
        if re.search(rf"^import .*\b{library}\b", code, re.M):
            pytest.importorskip(library)
    file = tmp_path / "quick_start.py"
    file.write_text(code)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr


def test_readme():
    first = re.search(r"^```python\n(.*?)^```", (ROOT / "python/README.md").read_text(), re.M | re.S).group(1)
    done = subprocess.run([sys.executable, "-c", first], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0 and "kernel.softmax.element" in done.stdout, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("pass"), done.stdout

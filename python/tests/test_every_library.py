"""--every-library fails a run that skips a test for a library, and no other."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
ALL = ["--every-library"]


@pytest.mark.parametrize(
    "skip, options, status",
    [
        ("def test(): pytest.importorskip('no_such_library')", [], 0),
        ("def test(): pytest.importorskip('no_such_library')", ALL, 1),
        ("pytest.importorskip('no_such_library')", ALL, 1),
        ("@pytest.mark.skipif(True, reason='needs python/requirements/models.txt')\ndef test(): pass", ALL, 1),
        ("def test(): pytest.skip('needs a GPU, and torch for CUDA')", ALL, 0),
        ("@pytest.mark.skipif(True, reason='needs the right to mount a small disk')\ndef test(): pass", ALL, 0),
        ("@pytest.mark.xfail\ndef test(): assert False", ALL, 0),
    ],
)
def test_a_skip_for_a_library_fails_the_run(skip, options, status, tmp_path):
    (tmp_path / "test_skipped.py").write_text(f"import pytest\n\n{skip}\n")
    (tmp_path / "test_passed.py").write_text("def test(): pass\n")
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == status, done.stdout + done.stderr
    assert ("skipped all the same" in done.stdout) == bool(status)

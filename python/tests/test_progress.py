"""Progress is written to a terminal on standard error, whatever standard output is; nothing is where that is no terminal."""

import os
import subprocess
import sys

import numpy as np
import pytest
from campaigns import COMMAND, KERNELS, needs_kernels

pty = pytest.importorskip("pty")

CHECK = """
import softcheck

def kept(x):
    return x

softcheck.{function}(kept, domain="n>=1 n<=9", cases=4)
print("done")
"""


def on_a_terminal(*command):
    """What the command writes to a terminal on standard error, and to the pipe on standard output."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while some := os.read(ours, 1 << 16):
                shown += some
        except OSError:  # Linux says so that the other side is closed
            pass
        os.close(ours)
        return shown.decode(), process.stdout.read().decode()


def commands(folder):
    np.save(folder / "x.npy", np.zeros((300000, 8), np.float32))
    np.save(folder / "p.npy", np.full((300000, 8), 0.125, np.float32))
    kernel = ("kernel", f"{KERNELS}/libsoftcheck_zoo.so:correct_two_pass", "--cases", "2", "--domain", "n<=9 rows<=3")
    return {
        "kernel": (COMMAND, *kernel),
        "infer": (COMMAND, *kernel, "--infer"),
        "check": (COMMAND, "check", "--logits", folder / "x.npy", "--output", folder / "p.npy"),
        "python check": (sys.executable, "-c", CHECK.format(function="check")),
        "python infer": (sys.executable, "-c", CHECK.format(function="infer")),
    }


@needs_kernels
@pytest.mark.parametrize("name", ["kernel", "infer", "check", "python check", "python infer"])
def test_progress_is_shown_on_a_terminal_beside_a_pipe(name, tmp_path):
    command = commands(tmp_path)[name]
    shown, printed = on_a_terminal(*command)
    assert (" of 300000 rows, " if name == "check" else " cases, ") in shown, shown
    assert shown.endswith("\x1b[K")  # the line is gone at the end
    assert printed and "\r" not in printed and "\x1b" not in printed
    quiet = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert quiet.stderr == "", quiet.stderr

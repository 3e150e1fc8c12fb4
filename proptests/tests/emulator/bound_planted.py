"""Bugs planted in kernels/cuda/bound: each line of bound_planted.tsv must turn its test red.

    bound_planted.py TABLE FOLDER    the table; kernels/cuda/bound
"""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def fails(folder, test):
    done = subprocess.run([sys.executable, "-B", "-m", "unittest", "-q", test], cwd=HERE, check=False,
                          env={**os.environ, "SOFTCHECK_BOUND": folder}, capture_output=True, text=True)
    if "Ran 1 test" not in done.stderr:
        sys.exit(f"{test}: did not run: {done.stderr}")
    return done.returncode != 0


def survives(line, folder):
    """What is wrong with a line, None where the test notices the bug."""
    name, file, text, replacement, test, _ = line.rstrip("\n").split("\t")
    text, replacement = (part.replace("\\n", "\n") for part in (text, replacement))
    with tempfile.TemporaryDirectory() as changed:
        shutil.copytree(folder, changed, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        path = os.path.join(changed, file)
        with open(path, encoding="utf-8") as source:
            code = source.read()
        if code.count(text) != 1:
            return f"{name}: its text occurs {code.count(text)} times in {file}"
        with open(path, "w", encoding="utf-8") as source:
            source.write(code.replace(text, replacement))
        return None if fails(changed, test) else f"{name}: {test} did not notice"


def main():
    table, folder = sys.argv[1:]
    with open(table, encoding="utf-8") as file:
        lines = file.readlines()[1:]
    for test in sorted({line.split("\t")[4] for line in lines}):
        if fails(folder, test):
            sys.exit(f"{test} fails without a bug")
    wrong = [said for line in lines if (said := survives(line, folder))]
    print("\n".join([*wrong, f"{len(lines)} bugs planted, {len(lines) - len(wrong)} noticed"]))
    sys.exit(1 if wrong or not lines else 0)


main()

"""Faults planted in kernels/cuda/instructions: each line of instructions_planted.tsv must turn its test red.

    instructions_planted.py TABLE FOLDER    the table; kernels/cuda/instructions
"""

import os
import shutil
import subprocess
import sys
import tempfile


def fails(folder, test):
    done = subprocess.run([sys.executable, "-B", "-m", "unittest", "-q", f"instructions_test.{test}"], check=False, text=True,
                          cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True,
                          env={**os.environ, "SOFTCHECK_INSTRUCTIONS": folder})
    return done.returncode != 0


def survives(line, folder):
    """What is wrong with a line, None where the test notices the fault."""
    name, file, text, replacement, test, _ = line.rstrip("\n").split("\t")
    with tempfile.TemporaryDirectory() as changed:
        shutil.copytree(folder, changed, dirs_exist_ok=True)
        with open(os.path.join(changed, file), "r+", encoding="utf-8") as source:
            code = source.read()
            if code.count(text) != 1:
                return f"{name}: its text occurs {code.count(text)} times in {file}"
            source.seek(0)
            source.truncate()
            source.write(code.replace(text, replacement))
        return None if fails(changed, test) else f"{name}: {test} did not notice"


table, original = sys.argv[1:]
with open(table, encoding="utf-8") as rows:
    faults = rows.readlines()[1:]
red = [f"{test}: fails without a fault" for test in sorted({line.split("\t")[4] for line in faults}) if fails(original, test)]
wrong = red or [said for line in faults if (said := survives(line, original))]
print("\n".join([*wrong, f"{len(faults)} faults planted, {len(faults) - len(wrong)} noticed"]))
sys.exit(bool(wrong or not faults))

"""judge_additions.py FOLDER: what additions.sh has built there judges kernels and results by the op, the dtype and the word that were added."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np

import softcheck
from softcheck.field.report import renewed

FOLDER = pathlib.Path(sys.argv[1])
TREE, WORK = FOLDER / "tree", FOLDER / "work"
COMMAND, KERNELS = FOLDER / "build/softcheck", FOLDER / "libadditions.so"
EXIT_CODES = {verdict["verdict"]: verdict["exit_code"] for verdict in softcheck.describe()["verdicts"]}
SMALL = {"domain": "n<=16 rows<=4", "effort": "quick", "progress": False}
E3M4 = ml_dtypes.float8_e3m4
FAILED = []


def expect(what: str, got: object, wanted: object) -> None:
    print(f"{'as expected' if got == wanted else 'WRONG'}: {what}: {got}", flush=True)
    if got != wanted:
        FAILED.append(what)


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, cwd=WORK)


def judge_the_zoo(op: str, dtype: str, least: int) -> None:
    """Each row of the zoo's table with this op and dtype, of the kernels that were built."""
    sources = [TREE / "kernels/zoo" / name for name in (FOLDER / "kernels.txt").read_text().split()]
    made = ["awk", "-f", TREE / "cmake/zoo_table.awk", TREE / "kernels/abi/softcheck_kernel.h", *sources]
    rows = [line.split("\t") for line in subprocess.run(made, capture_output=True, text=True, check=True).stdout.splitlines()]
    found = [row for row in rows if row[2:4] == [op, dtype]]
    expect(f"the zoo has at least {least} kernels of {op} in {dtype}", len(found) >= least, True)
    for _, symbol, _, _, contract, _, verdict, *_ in found:
        done = command("kernel", f"{KERNELS}:{symbol}", "--op", op, "--dtype", dtype, "--contract", contract, "--effort", "quick", "--domain", "n<=64 rows<=8")
        expect(f"{symbol} in {dtype}", done.returncode, EXIT_CODES[verdict])


def op() -> None:
    judge_the_zoo("scaled_sum", "f32", 2)
    inferred = command("kernel", f"{KERNELS}:correct_scaled_sum", "--op", "scaled_sum", "--infer", "--effort", "quick", "--domain", "n<=64 rows<=8")
    expect("its contract is inferred", (inferred.returncode, "scaled_sum f32 [acc=f32 " in inferred.stdout), (0, True))

    page = TREE / "docs/ops/scaled_sum.md"
    expect("its page has the op's table", renewed(page) == page.read_text(), True)

    def scaled_sum(logits, upstream):
        return np.sum(logits, axis=1, dtype=np.float32) * upstream

    expect("a right function", softcheck.check(scaled_sum, "scaled_sum", **SMALL).verdict, "pass")
    expect("a wrong function", softcheck.check(lambda logits, upstream: logits.sum(axis=1), "scaled_sum", **SMALL).verdict, "fail")
    logits, upstream = np.float32([[1, 2, 4], [0, 1, 1]]), np.float32([2, 0.5])
    softcheck.assert_output("scaled_sum", (logits, upstream), scaled_sum(logits, upstream))
    try:
        softcheck.assert_output("scaled_sum", (logits, upstream), logits.sum(axis=1))
        expect("wrong results", "taken", "refused")
    except AssertionError as error:
        expect("wrong results", "kernel.scaled_sum.value" in str(error), True)


def softmax(logits: np.ndarray) -> np.ndarray:
    wide = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        weights = np.exp(wide - wide.max(axis=-1, keepdims=True, initial=-np.inf))
        return (weights / weights.sum(axis=-1, keepdims=True)).astype(logits.dtype)


def check_files(dtype: str, results: np.ndarray, *words: str) -> int:
    np.save(WORK / "out.npy", results.view("V1") if dtype == "e3m4" else results)
    return command("check", "--logits", "x.npy", "--output", "out.npy", *words).returncode


def dtype() -> None:
    judge_the_zoo("softmax", "e3m4", 6)
    judge_the_zoo("log_softmax", "e3m4", 1)
    expect("a right function", softcheck.check(softmax, dtype="float8_e3m4", **SMALL).verdict, "pass")
    expect("a wrong function", softcheck.check(lambda x: softmax(x) / E3M4(2), dtype="float8_e3m4", **SMALL).verdict, "fail")
    logits = np.array([[0, 1, 2.5], [0.5, 15.5, 8]], E3M4)
    right, wrong = softmax(logits), softmax(logits)[::-1]
    softcheck.assert_output("softmax", logits, right)
    np.save(WORK / "x.npy", logits.view("V1"))
    expect("right results in files", check_files("e3m4", right, "--dtype", "e3m4"), 0)
    expect("wrong results in files", check_files("e3m4", wrong, "--dtype", "e3m4"), 1)


def word() -> None:
    words = {one["word"]: one for one in softcheck.describe()["contract_words"]}
    expect("softcheck_describe has the word", words.get("further", {}).get("values"), "K")

    def off(logits):
        return softmax(logits) * np.float32(1 - 2**-18)

    for contract, verdict in (("", "fail"), ("further=20", "fail"), ("further=80", "pass")):
        found = softcheck.check(off, contract=f"sum=tree {contract}".strip(), **SMALL)
        expect(f"a function that errs by 64 u, {contract or 'no word'}", found.verdict, verdict)
    expect("the report has it", "further=80" in found.contract, True)
    logits = np.float32([[0, 1, 2.5], [0.5, 15.5, 8]])
    np.save(WORK / "x.npy", logits)
    expect("results in files", check_files("f32", off(logits)), 1)
    expect("results in files, further=80", check_files("f32", off(logits), "--contract", "further=80"), 0)
    refused = command("check", "--logits", "x.npy", "--output", "out.npy", "--contract", "further=many")
    expect("a value that is not a number", (refused.returncode, "need further=K" in refused.stderr), (2, True))


if __name__ == "__main__":
    WORK.mkdir(exist_ok=True)
    for addition in (op, dtype, word):
        addition()
    sys.exit(f"additions: {len(FAILED)} answers are wrong: {'; '.join(FAILED)}" if FAILED else 0)

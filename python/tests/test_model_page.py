"""docs/model_certificate.md has the numbers of docs/gemma.tsv, and the file those of the model.

    python python/tests/test_model_page.py build/models/gemma-3-270m-q4_k_m.gguf

writes both anew.
"""

import csv
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGE, TABLE, IDS = (ROOT / "docs" / name for name in ("model_certificate.md", "gemma.tsv", "gemma_ids.txt"))
MODEL = ROOT / "build" / "models" / "gemma-3-270m-q4_k_m.gguf"
COMMAND = ROOT / "build" / "release" / "softcheck"
FORMATS = [  # (2 - 2 u) 2^E: u is the unit roundoff, E the largest exponent, but e4m3's last number is a NaN
    ("f16", (2 - 2**-10) * 2**15, "kernels that keep scores in half precision"),
    ("bf16", (2 - 2**-7) * 2**127, "no kernel: its range is that of f32"),
    ("f8_e5m2", (2 - 2**-2) * 2**15, "gradients, some KV caches"),
    ("f8_e4m3", (2 - 2**-2) * 2**8, "attention in fp8, KV caches"),
]


def measured(model):
    """A row for each layer: the widest of its heads, proved and observed."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        subprocess.run([COMMAND, "model", model, "--tokens", IDS, "--json", report], check=True, stdout=subprocess.DEVNULL)
        heads = json.loads(report.read_text())["heads"]
    rows = []
    for layer in range(1 + max(head["layer"] for head in heads)):
        of_layer = [head for head in heads if head["layer"] == layer]
        seen = [head["observed"] for head in of_layer]
        rows.append(
            {
                "layer": layer,
                "window": of_layer[0]["window"] or "",
                "spread": max(head["spread"]["best"][1] for head in of_layer),
                "reached": max(head["spread"]["best"][0] for head in of_layer),
                "logit": max(head["logit"][1] for head in of_layer),
                "score": max(head["score"][1] for head in of_layer),
                "length_log10": max(head["dispersion_length_log10"][1] for head in of_layer),
                "observed_spread": max(one["spread"][1] for one in seen),
                "observed_median": statistics.median(one["median_spread"] for one in seen),
                "observed_logit": max(one["logit"][1] for one in seen),
            }
        )
    return [{name: value if isinstance(value, (int, str)) else float(f"{value:.6g}") for name, value in row.items()} for row in rows]


def stored():
    with TABLE.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [{name: value if value == "" else float(value) for name, value in row.items()} for row in rows]


def powers(length):
    return f"10^{math.floor(length)}"


def typical(row):
    return math.log10(1 + math.exp(row["observed_median"]) * 9)


def parts(rows):
    """The generated parts of the page, by name."""
    lines = [
        "| layer | window | proved: spread | reached | log10 N(0.1) | observed: spread, median row | widest row | logit, proved | observed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        window = "none" if row["window"] == "" else f"{row['window']:.0f}"
        lines.append(
            f"| {row['layer']:.0f} | {window} | {row['spread']:.0f} | {row['reached'] / row['spread']:.2f} | {row['length_log10']:.0f} | "
            f"{row['observed_median']:.1f} | {row['observed_spread']:.1f} | {row['logit']:.0f} | {row['observed_logit']:.1f} |"
        )
    score, logit = (max(row[name] for row in rows) for name in ("score", "logit"))
    overflow = ["| format | largest number | who needs it | this model |", "|---|---|---|---|"]
    for name, largest, who in FORMATS:
        raw, scaled = ("certain" if value < largest else "not certain" for value in (score, logit))
        overflow.append(f"| {name} | {largest:g} | {who} | score at most {score:.0f}: {raw}; logit at most {logit:.0f}: {scaled} |")
    below = sum(row["logit"] < 100 for row in rows)
    seen = sum(row["observed_logit"] < 100 for row in rows)
    wide = [row for row in rows if row["window"] == ""]
    shares = sorted(row["observed_spread"] / row["spread"] for row in rows)
    return {
        "gemma": lines,
        "overflow": overflow,
        "clip": [f"In Gemma `logit` is below 100 in {below} of {len(rows)} layers; the observed logit in {seen}."],
        "length": [
            f"Of Gemma's {len(rows)} layers {len(wide)} have no window. The proved length of these is "
            f"{', '.join(powers(row['length_log10']) for row in wide)} items (layers "
            f"{', '.join(format(row['layer'], '.0f') for row in wide)}), the typical one of the median row "
            f"{', '.join(powers(typical(row)) for row in wide)}. The model's context is 32,768.",
        ],
        "shares": [
            f"The widest observed row of a layer has {100 * shares[0]:.1f} to {100 * shares[-1]:.1f} % of the proved spread "
            f"(median {100 * statistics.median(shares):.1f} %)."
        ],
    }


def written(page, rows):
    for name, lines in parts(rows).items():
        block = f"<!-- generated {name} -->\n" + "\n".join(lines) + "\n<!-- end -->"
        page, count = re.subn(rf"<!-- generated {name} -->\n.*?<!-- end -->", lambda _: block, page, flags=re.S)
        assert count == 1, name
    return page


def test_the_page_has_the_numbers_of_the_file():
    assert written(PAGE.read_text(), stored()) == PAGE.read_text()


@pytest.mark.skipif(not (MODEL.exists() and COMMAND.exists()), reason="build/models has no Gemma (./run models gemma)")
def test_the_file_has_the_numbers_of_the_model():
    for row, again in zip(stored(), measured(MODEL), strict=True):
        for name, value in again.items():
            # Another machine's exp and sums may move the last of six digits.
            assert row[name] == value if value == "" else math.isclose(row[name], value, rel_tol=2e-5), (row["layer"], name)


if __name__ == "__main__":
    rows = measured(sys.argv[1])
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    PAGE.write_text(written(PAGE.read_text(), stored()))

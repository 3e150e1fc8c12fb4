"""An op, a dtype and a contract word are added to a copy of the tree, each as its recipe in CONTRIBUTING.md says.

additions.py count         every edit finds its place, no addition touches more files than it may, and the recipe names each
additions.py tree FOLDER   writes the copy
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]


class Edit(NamedTuple):
    """`text` goes in front of `place`, which the file has once; without a place it is a new file's."""

    file: str
    text: str
    place: str = ""
    named: str = ""  # what the recipe calls the file, if not by its path


def op_source() -> str:
    source = (HERE / "scaled_sum.hpp").read_text()
    source = source.replace("#pragma once\n\n", "").replace("scaled_sum_number = 4242", "scaled_sum_number = SOFTCHECK_OP_SCALED_SUM")
    end = "}  // namespace softcheck::proptests\n"
    return source.replace(end, f"constinit const ScaledSum scaled_sum_op;\nconstinit const Op Op::scaled_sum = scaled_sum_op;\n\n{end}")


def kernel_source(comments: str, symbol: str, sum_of_row: str) -> str:
    return f"""// {comments}
SOFTCHECK_MUTANT {symbol}(const softcheck_call* call) {{
  if (call_of(call, SOFTCHECK_OP_SCALED_SUM, 2, 1) == nullptr) return 1;
  const View logits(*call->inputs[0]), factors(*call->inputs[1]), out(*call->outputs[0]);
  return in_format_of(logits.type, [&]<class Real>(Real) {{
    for (std::int64_t r = 0; r < logits.rows; ++r) {{
      Real sum = 0;
      {sum_of_row}
      out.put(r, 0, factors.get<Real>(r, 0) * sum);
    }}
  }});
}}
"""


ZOO = '\n#include "kernels/zoo/rows.hpp"\n\nusing namespace softcheck::kernels::zoo;\n\n// '
CORRECT = kernel_source(
    f"Correct kernels of scaled_sum.{ZOO}@judged scaled_sum f32: sum=sequential; pass",
    "correct_scaled_sum",
    "for (const Real x : read_row<Real>(logits, r)) sum += x;",
)
BUG = kernel_source(
    f"Bugs of scaled_sum.{ZOO}The last item of a row is left out.\n// @judged scaled_sum f32: sum=sequential; fail C5; value",
    "mutant_scaled_sum_drops_the_last",
    "for (std::int64_t i = 0; i + 1 < logits.columns; ++i) sum += logits.get<Real>(r, i);",
)
PAGE = """# scaled_sum

For an engineer of scaled sums.

<!-- generated from softcheck.describe(): ops scaled_sum -->
| op | inputs | outputs | claims | calls may have |
|---|---|---|---|---|
| `scaled_sum` | logits, upstream | output | `kernel.scaled_sum.value` |  |
<!-- end -->

The sum of a row's logits times its factor, which stands in `upstream`.
"""

OP = (
    Edit("judge/ops/scaled_sum/scaled_sum.cpp", op_source(), named="judge/ops/NAME/NAME.cpp"),
    Edit("judge/op/op.hpp", "  OP(scaled_sum) \\\n", "  OP(attention)  "),
    Edit("kernels/abi/softcheck_kernel.h", "  SOFTCHECK_OP_SCALED_SUM = 4242,\n", "  SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD ="),
    Edit("python/softcheck/_words.py", '    "scaled_sum",\n', '    "attention",\n'),
    Edit("kernels/zoo/correct/scaled_sum.cpp", CORRECT, named="kernels/zoo/correct/"),
    Edit("kernels/zoo/bugs/scaled_sum.cpp", BUG, named="kernels/zoo/bugs/"),
    Edit("docs/ops/scaled_sum.md", PAGE, named="docs/ops/"),
    Edit("docs/README.md", "| scaled sums | [scaled_sum](ops/scaled_sum.md) |\n", "| top-k routers |"),
)
# IEEE 754's layout with 3 bits of exponent and 4 of fraction, which ml_dtypes has and DLPack gives the code 7.
DTYPE = (
    Edit("numerics/formats/format.hpp", ", e3m4", " };\n\nstruct FormatProperties {"),
    Edit(
        "numerics/formats/format.cpp",
        '    describe("e3m4", "float8_e3m4", "F8_E3M4", 7, 8, 5, 3, 3, all_ones(5, 3), true),\n',
        "};\n\nconstexpr auto formats",
    ),
    Edit("kernels/abi/softcheck_kernel.h", "  SOFTCHECK_DTYPE_E3M4 = 7, /* bias 3, largest 15.5 */\n", "  SOFTCHECK_DTYPE_E4M3 ="),
    Edit("kernels/arithmetic/format_bits.hpp", ", {7, 4, 3, true}", "};\n\n/// What becomes of a number beyond"),
    Edit("python/softcheck/_words.py", '    "float8_e3m4", "e3m4",\n', '    "float64", "float32",'),
    Edit("docs/kernels/contract.md", "`e3m4` is IEEE 754's layout in 8 bits.\n\n", "| | e4m3 (float8_e4m3fn) |"),
)
WORD = (
    Edit("numerics/rounding/contract.hpp", "  double further = 0;  // roundings more of each coefficient\n", "  Summation summation;\n"),
    Edit(
        "numerics/rounding/contract.cpp",
        '    {{"further", "K", "softmax: each coefficient errs by K u more"},\n'
        "     [](Contract& contract, std::string_view, std::string_view value) {\n"
        "       const auto number = read_number(value);\n"
        '       if (!number) refuse("further=K with K >= 0", "further=" + std::string(value));\n'
        "       contract.further = *number;\n"
        "     },\n"
        "     [](const Contract& contract) { return write_number(contract.further); },\n"
        "     differs<&Contract::further>},\n",
        '    {{"tanh", "Kulp",',
    ),
    Edit(
        "numerics/rounding/rounding_model.cpp",
        "  q.output_unit = q.output_unit + minus_log1m(T(contract.further) * roundoff);\n",
        "  q.output_roundoff = output_roundoff;\n",
        named="numerics/rounding/",
    ),
    Edit("docs/kernels/contract.md", "| `further=K` | 0 | softmax: each coefficient errs by K u more |\n", "| `tanh=Kulp` |"),
)
# The recipe's heading, the most files and the edits.
ADDITIONS = {"op": ("A new op of rows", 8, OP), "dtype": ("A new format", 8, DTYPE), "word": ("A new contract word", 4, WORD)}


def recipe(heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)^## ", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S)
    if not found:
        sys.exit(f"additions: CONTRIBUTING.md has no recipe '{heading}'")
    return found[1]


def count() -> int:
    wrong = 0

    def complain(text: str) -> None:
        nonlocal wrong
        print(f"additions: {text}")
        wrong += 1

    for kind, (heading, most, edits) in ADDITIONS.items():
        files = {edit.file for edit in edits}
        print(f"{kind}: {len(files)} files, at most {most}")
        if len(files) > most:
            complain(f"{kind} touches {len(files)} files, at most {most}: {' '.join(sorted(files))}")
        for edit in edits:
            path = ROOT / edit.file
            times = path.read_text().count(edit.place) if edit.place else 1 - path.exists()
            if times != 1:
                complain(f"{edit.file}: need {edit.place or 'no such file'!r} once, got {times} times")
            if (edit.named or edit.file) not in recipe(heading):
                complain(f"CONTRIBUTING.md: '{heading}' does not name {edit.named or edit.file}")
    return 1 if wrong else 0


def tree(folder: pathlib.Path) -> None:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    content = {name: (ROOT / name).read_bytes() for name in names if (ROOT / name).is_file()}
    for _, _, edits in ADDITIONS.values():
        for edit in edits:
            text = content.get(edit.file, b"").decode()
            content[edit.file] = (text.replace(edit.place, edit.text + edit.place) if edit.place else edit.text).encode()
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in content:
            path.unlink()
    for name, wanted in content.items():
        path = folder / name
        if path.is_file() and path.read_bytes() == wanted:
            continue  # it keeps its time, so that a second build is short
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wanted)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["count"]:
            sys.exit(count())
        case ["tree", folder]:
            tree(pathlib.Path(folder))
        case _:
            sys.exit(__doc__)

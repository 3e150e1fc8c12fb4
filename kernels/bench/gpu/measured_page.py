#!/usr/bin/env python3
"""Copies the measurements in gpu_measured.json into docs/kernels/gpu_measured.md; --check compares the two and writes nothing.

A block stands between `<!-- measured: NAME -->` and `<!-- end -->`.
"""
import json
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/kernels/gpu_measured.md"
ROWS = ("softmax", "entropy", "adaptive_softmax")
HEADS = "1 x 16 heads x {0} queries x {0} keys x {1}"


def table(head, rows):
    text = [f"| {' | '.join(line)} |".replace("|  |", "| |") for line in (head, *rows)]
    return "\n".join([text[0], "|---" * len(head) + "|", *text[1:]])


def span(values, form):
    return f"{min(values):{form}} to {max(values):{form}}"


def rates(data):
    copy, read = (one["bytes_per_second"] / 1e12 for one in data["ceilings"])
    return f"A copy of a GiB moves {copy:.2f} TB/s (bytes read and written), a read {read:.2f} TB/s."


def rows(data):
    of = {(one["format"], int(one["problem"].split(" x ")[1]), one["kernel"]): one for one in data["benchmarks"] if one["group"] == "rows"}
    kinds = list(dict.fromkeys(key[:2] for key in of))
    items = [[f"{dtype}, {n} items", *(f"{100 * of[dtype, n, op]['of_ceiling']:.0f} %" for op in ROWS)] for dtype, n in kinds]
    seconds = {key: one["median_seconds"] for key, one in of.items()}
    ratios = [seconds["bf16", n, op] / seconds["f32", n, op] / 2 for n in (1024, 4096, 16384, 131072) for op in ROWS]
    return (table(["", *(op.replace("_", " ") for op in ROWS)], items) +
            f"\n\nA bf16 item takes {span(ratios, '.2f')} of the time of an f32 item in rows of up to 131,072. The longest rows are 128 "
            "(bf16: 256): each is one block, so a multiprocessor has one block or two, or none.")


def attention(data):
    of = {(one["problem"], one["kernel"]): one for one in data["benchmarks"]}
    kernels = ("mma_attention", "mma_adaptive_attention", "mma_attention_statistics")
    long = "1 x 1 heads x 1048576 queries x 1048576 keys x 128, causal"
    problems = [(f"{dim} columns{causal}", HEADS.format(16384, dim) + causal) for dim in (64, 128) for causal in ("", ", causal")]
    problems.append(("128 columns, one head of 1,048,576 tokens, causal", long))
    tflops = [[name, *(f"{of[problem, kernel]['flops_per_second'] / 1e12:.0f}" for kernel in kernels)] for name, problem in problems]
    tensor_cores = [one for one in data["benchmarks"] if one["group"] == "mma_attention"]

    def firsts(kernel):
        return [one["seconds_of_first"] for one in tensor_cores if one["kernel"] == kernel]

    apart = max(abs(ratio - 1) for ratio in firsts("mma_attention with entropy"))
    packed = next(one["seconds_of_first"] for one in data["benchmarks"] if one["kernel"] == "mma_attention, packed")
    split = of["1 x 8 heads x 1 queries x 1048576 keys x 128", "split_attention"]["median_seconds"]
    share = 8 * 1048576 * 128 * 2 * 2 / split / data["ceilings"][1]["bytes_per_second"]
    return (table(["", "mma_attention", "adaptive", "statistics"], tflops) +
            f"\n\nWith lse and entropy the time is the same within {100 * apart:.1f} %. "
            f"Packed sequences of 256 to 4096 tokens take {packed:.2f} of the padded call's time. "
            f"Adaptive attention by tensor cores takes {span(firsts('mma_adaptive_attention'), '.2f')} times as long as plain attention. "
            f"One query, 8 heads, 1,048,576 keys: split attention takes {1000 * split:.1f} ms, "
            f"{100 * share:.0f} % of the speed of a plain read of K and V.")


def attention_peers(data):
    of = data["peers"]["median seconds"]
    lines = []
    for n, dim, causal in ((4096, 64, ""), (16384, 64, ", causal"), (4096, 128, ""), (16384, 128, ""), (16384, 128, ", causal")):
        times = of[f"attention 16 heads x {n} x {dim} bfloat16{causal}"]
        lines.append([f"{n} x {dim}{causal}", f"{1000 * times['ours']:.2f} ms",
                      *(f"{times['ours'] / times[f'torch {peer}']:.1f}" for peer in ("efficient", "flash", "cuDNN"))])
    return table(["bf16, 16 heads", "ours", "memory-efficient", "flash", "cuDNN"], lines)


def row_peers(data):
    of = data["peers"]["median seconds"]
    columns = [("softmax", "torch"), ("softmax", "torch.compile"), ("softmax", "triton"), ("entropy", "torch"), ("entropy", "torch.compile"),
               ("adaptive softmax", "paper's code, torch"), ("adaptive softmax", "paper's code, torch.compile")]

    def ratio(op, peer, shape):
        times = of[f"{op} {shape}"]
        return f"{times['ours'] / times[peer]:.2g}" if peer in times else "-"

    shapes = [name.removeprefix("softmax ") for name in of if name.startswith("softmax ")]
    lines = [[re.sub(r"(.*) (float|bfloat)(\d+)", lambda m: f"{'bf' if m[2][0] == 'b' else 'f'}{m[3]}, {m[1]}", shape),
              *(ratio(op, peer, shape) for op, peer in columns)] for shape in shapes]
    return table(["rows x items", "softmax: torch", "torch.compile", "Triton", "entropy: torch", "torch.compile",
                  "adaptive, the paper's code: torch", "torch.compile"], lines)


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(f"measured_page: need nothing or --check, got {' '.join(arguments)}")
    data = json.loads(PAGE.with_suffix(".json").read_text())
    text = PAGE.read_text()
    blocks = {block.__name__: block for block in (rates, rows, attention, attention_peers, row_peers)}
    found = re.findall(r"<!-- measured: (\w+) -->", text)
    if sorted(found) != sorted(blocks):
        sys.exit(f"measured_page: need the blocks {', '.join(blocks)} in {PAGE.name}, got {', '.join(found)}")
    new = re.sub(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}{blocks[m[2]](data)}\n{m[3]}", text, flags=re.DOTALL)
    if arguments and new != text:
        sys.exit(f"measured_page: {PAGE.name} is not of {PAGE.with_suffix('.json').name}: python3 kernels/bench/gpu/measured_page.py")
    if not arguments:
        PAGE.write_text(new)


if __name__ == "__main__":
    main(sys.argv[1:])

"""What each kernel's loops do for an item, and so the bound of the kernel."""

import re
from collections import Counter
from dataclasses import dataclass

import rates
from passes import Program, Work
from sass import Malformed

SIZE = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}
THREADS = 128  # of a block of every kernel
TILE_KEYS, TILE_QUERIES = 32, 16  # tensor cores: keys of a pass, queries of a warp
DIM = 128  # of the calls that the tables of attention speak of, in keys and values alike


@dataclass
class Pass:
    """One pass of a loop, or of all loops of that role."""
    role: str
    items: int  # of a thread
    counts: dict  # of each class


@dataclass
class Bound:
    kernel: str
    passes: list
    clocks: Counter  # of a multiprocessor for `items` items, each pipe, and its share of the memory's bandwidth
    items: int
    unit: str
    of: str  # what share is a share of
    share: float
    binds: str  # the pipe that takes the most clocks
    registers: int = 0
    blocks_held: int = 0


@dataclass(frozen=True)
class RowPass:
    role: str
    reads: int  # tensors of the row's shape
    writes: int
    exponentials: int  # of an item


STATISTICS = RowPass("statistics", 1, 0, 1)
ROW_PASSES = {
    "softmax": (STATISTICS, RowPass("results", 1, 1, 1)),
    "log_softmax": (STATISTICS, RowPass("results", 1, 1, 0)),
    "logsumexp": (STATISTICS,),
    "entropy": (STATISTICS,),
    "varentropy": (STATISTICS,),
    "row_statistics": (STATISTICS,),
    "adaptive_softmax": (STATISTICS, RowPass("sum at beta", 1, 0, 1), RowPass("results", 1, 1, 1)),
    "adaptive_softmax_backward": (STATISTICS, RowPass("sums", 2, 0, 1), RowPass("results", 2, 1, 2)),
}


def formats_of(kernel):
    found = re.search(r"\b(f64|f32|bf16|f16)(?:->(\w+))?$", kernel.name)
    if not found:
        raise Malformed(f"{kernel.name}: no number format in the name")
    return found[1]


def binding(clocks):
    """The pipe that takes the most clocks. Of two that take as many, the memory."""
    return max(clocks, key=lambda pipe: (clocks[pipe], pipe == "memory"))


def share_of(clocks, wanted):
    """What binds, and the share of its clocks that a kernel with nothing else to do would take."""
    binds = binding(clocks)
    return {"binds": binds, "share": wanted / clocks[binds]}


def row_bound(program, family):
    """Of a row so long that what happens once a row does not count, and so short that only its first pass reads memory.
    The share is of a copy of the row, or of a read of it where the results are one a row."""
    kernel, size, wanted = program.kernel, SIZE[formats_of(program.kernel)], ROW_PASSES[family]
    columns = [loop for loop in program.loops if loop.depth == 2 and program.most(loop, "loaded") > 0]
    if len(columns) != len(wanted):
        raise Malformed(f"{kernel.name}: {len(columns)} loops read columns, expected {len(wanted)}")
    passes, clocks = [], Counter()
    for loop, step in zip(columns, wanted):
        loaded, stored = program.most(loop, "loaded"), program.most(loop, "stored")
        items = loaded // (size * step.reads)
        if items * size * step.reads != loaded or items * size * step.writes != stored:
            raise Malformed(f"{kernel.name}, {step.role}: a pass loads {loaded} and stores {stored} bytes: "
                            f"not {step.reads} and {step.writes} tensors of {size} bytes an item")
        ordinary = program.of_blocks(program.ordinary(loop, Work(step.exponentials * items, loaded, stored)))
        passes.append(Pass(step.role, items, rates.counts_of(ordinary)))
        for pipe, spent in rates.clocks_of(ordinary).items():
            clocks[pipe] += spent / (rates.WARP * items)
    moved = size * (max(step.reads for step in wanted) + max(step.writes for step in wanted))
    clocks["memory"] = rates.memory_clocks(moved)
    of = "copy" if any(step.writes for step in wanted) else "read"
    return Bound(kernel.name, passes, clocks, 1, "item", of, **share_of(clocks, clocks["memory"]))


def mma_bound(program, family):
    """Of many keys: what happens once a query does not count. The share is of the tensor cores' peak; the operations are
    those of plain attention, or of the scores alone."""
    kernel = program.kernel
    adaptive, width = "true" in kernel.name.split(), int(re.search(r" (64|128) ", kernel.name)[1])
    tiles = [loop for loop in program.loops if loop.depth == 2 and program.most(loop, "flops") > 0]
    product = 2 * TILE_KEYS * TILE_QUERIES * width
    steps = [("scores", 1)] if family == "mma_statistics" else [("scores", 1)] * adaptive + [("attention", 2)]
    if len(tiles) != len(steps):
        raise Malformed(f"{kernel.name}: {len(tiles)} loops of products, expected {len(steps)}")
    passes, clocks = [], Counter()
    for loop, (role, products) in zip(tiles, steps):
        scores = TILE_KEYS * TILE_QUERIES // rates.WARP
        loaded = products * TILE_KEYS * width * 2 // THREADS
        ordinary = program.of_blocks(program.ordinary(loop, Work(scores, loaded, 0, products * product)))
        passes.append(Pass(role, scores, rates.counts_of(ordinary)))
        clocks.update(rates.clocks_of(ordinary))
    useful = product * steps[-1][1] / rates.TENSOR_FLOPS_PER_CLOCK
    return Bound(kernel.name, passes, clocks, TILE_KEYS * TILE_QUERIES, "score", "tensor peak", **share_of(clocks, useful))


@dataclass(frozen=True)
class TilePass:
    """A pass of a loop over tiles of keys, for a backward kernel perhaps of queries."""
    role: str
    keys: int  # of a thread
    dots: int  # products over the columns, of a thread
    exponentials: int  # of a thread
    columns: bool  # whether the thread then goes through the tile's 128 keys for a column of its own


def tile_passes(family, adaptive):
    statistics, weights = TilePass("statistics", 4, 4, 4, False), TilePass("weights and output", 1, 1, 1, True)
    gradient = TilePass("gradient", 1, 2, 1 + adaptive, True)
    return {
        "attention": [statistics] * adaptive + [weights],
        "attention_statistics": [statistics],
        "part_attention": [weights],
        "part_statistics": [statistics],
        "query_backward": [statistics, TilePass("sums", 1, 2, 1, False), gradient],
        "key_backward": [gradient],
    }[family]


# Products over DIM columns of each query and key that a gradient needs: q k, d_out v and dq; dk and dv.
GRADIENT_PRODUCTS = {"query_backward": 3, "key_backward": 2}


def inner_loop(program, loop):
    """Its ordinary pass, what it is, and the items of a pass: a dot product's columns, or the keys whose weight it tests."""
    blocks = program.ordinary(loop, Work(0, program.most(loop, "loaded")))
    instructions = program.of_blocks(blocks)
    loads = sum(1 for i in instructions if i.name == "LDG" and rates.bytes_of(i) > 1)
    if loads and sum(1 for i in instructions if i.name in ("FFMA", "DFMA")) >= loads:
        return "dot", loads, instructions
    tests = sum(1 for block in blocks if len(program.blocks[block].successors) == 2) - 1  # the last one is the loop's own
    return ("column", tests, instructions) if loads and tests > 0 else ("none", 0, instructions)


def tile_bound(program, family):
    """Of a block that takes a query through its keys, or a key through its queries; many of them, heads of DIM columns.
    Forward: the share is of a read of the keys, and of the values where they are used, once. Backward: of the peak of
    fused multiply-adds, for the products that a gradient needs."""
    kernel, format_ = program.kernel, formats_of(program.kernel)
    steps = tile_passes(family, "true" in kernel.name.split())
    found = [(loop, [(inner, *inner_loop(program, inner)) for inner in loop.children if not inner.children])
             for loop in program.loops]
    found = [(loop, inner) for loop, inner in found if any(kind == "dot" and items >= 16 for _, kind, items, _ in inner)]
    if len(found) != len(steps):
        raise Malformed(f"{kernel.name}: {len(found)} loops over keys, expected {len(steps)}")
    passes, clocks = [], Counter()

    def add(role, items, instructions, times, lines_apart=False):
        if not passes or passes[-1].role != role:
            passes.append(Pass(role, items, dict.fromkeys(rates.CLASSES, 0)))
        for kind, count in rates.counts_of(instructions).items():
            passes[-1].counts[kind] += count
        for pipe, spent in rates.clocks_of(instructions, lines_apart).items():
            clocks[pipe] += spent * times

    for (tile, inner), step in zip(found, steps):
        dots = [entry for entry in inner if entry[1] == "dot" and entry[2] >= 16]
        columns = [entry for entry in inner if entry[1] == "column"][:1] if step.columns else []
        if len(dots) != step.dots or len(columns) != step.columns:
            raise Malformed(f"{kernel.name}, {step.role}: {len(dots)} dot products and {len(columns)} loops over a column's "
                            f"keys, expected {step.dots} and {int(step.columns)}")
        through = [loop.header for loop, *_ in dots + columns]
        own = program.of_blocks(program.ordinary(tile, Work(step.exponentials), through))
        add(step.role, step.keys, own, 1 / (rates.WARP * step.keys))
        for _, _, items, instructions in dots:
            add(f"{step.role}: dot", items, instructions, DIM / items / (rates.WARP * step.keys), True)
        for _, _, items, instructions in columns:
            add(f"{step.role}: columns", items, instructions, THREADS / rates.WARP / items)
    if family in GRADIENT_PRODUCTS:
        lanes = rates.WARP / rates.CLOCKS["fp64" if format_ == "f64" else "fma"]
        return Bound(kernel.name, passes, clocks, 1, "key", "fma peak",
                     **share_of(clocks, GRADIENT_PRODUCTS[family] * DIM / lanes))
    tensors = 2 if any(step.columns for step in steps) else 1
    clocks["memory"] = rates.memory_clocks(tensors * DIM * SIZE[format_])
    return Bound(kernel.name, passes, clocks, 1, "key", "read", **share_of(clocks, clocks["memory"]))


def merge_bound(program, _):
    """Of the parts of a split call: a thread adds a column of each. The share is of a read of them."""
    kernel = program.kernel
    found = [entry for loop in program.loops if (entry := inner_loop(program, loop))[0] == "column" and not loop.children]
    if not found:
        raise Malformed(f"{kernel.name}: no loop over parts")
    _, items, instructions = found[0]
    clocks = Counter({pipe: spent / (rates.WARP * items) for pipe, spent in rates.clocks_of(instructions).items()})
    clocks["memory"] = rates.memory_clocks(2 * max(4, SIZE[formats_of(kernel)]))
    return Bound(kernel.name, [Pass("parts", items, rates.counts_of(instructions))], clocks, 1, "number", "read",
                 **share_of(clocks, clocks["memory"]))


MODELS = {
    **{family: row_bound for family in ROW_PASSES},
    "mma_attention": mma_bound,
    "mma_statistics": mma_bound,
    **{family: tile_bound for family in ("attention", "attention_statistics", "part_attention", "part_statistics",
                                         "query_backward", "key_backward")},
    "merge_parts": merge_bound,
}


def bound(kernel):
    """The bound of a kernel that softcheck knows."""
    family = kernel.name.split()[0]
    if family not in MODELS:
        raise Malformed(f"{kernel.name}: no model of this kernel in kernels/cuda/bound/models.py")
    try:
        result = MODELS[family](Program(kernel), family)
    except Malformed as error:
        raise Malformed(str(error) if str(error).startswith(kernel.name) else f"{kernel.name}: {error}") from error
    result.registers = kernel.registers
    result.blocks_held = rates.blocks_by_registers(kernel.registers, THREADS)
    return result

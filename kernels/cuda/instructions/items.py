"""The loops of each kernel: the work of a pass for its items, and so the instructions of an item.

An item is an element of a row; of attention a score, which is one query with one key; of merge_parts a column of a
part.
"""

from loops import is_conditional
from passes import Program, Work
from sass import Malformed

SIZE = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}
TILE_KEYS, TILE_QUERIES = 32, 16  # tensor cores: keys of a pass, queries of a warp
THREADS, WARP = 128, 32  # of a block of every kernel, of a warp
PRODUCT = 16 * 8 * 16  # multiply-adds of an instruction on tensor cores

# Role, tensors of the row's shape that it reads and writes, exponentials of an item.
STATISTICS = ("statistics", 1, 0, 1)
ROW_PASSES = {
    "softmax": (STATISTICS, ("results", 1, 1, 1)),
    "log_softmax": (STATISTICS, ("results", 1, 1, 0)),
    "logsumexp": (STATISTICS,),
    "entropy": (STATISTICS,),
    "varentropy": (STATISTICS,),
    "row_statistics": (STATISTICS,),
    "adaptive_softmax": (STATISTICS, ("sum at beta", 1, 0, 1), ("results", 1, 1, 1)),
    "adaptive_softmax_backward": (STATISTICS, ("sums", 2, 0, 1), ("results", 2, 1, 2)),
}
# Of the tree kernels: rows read and written, exponentials of an item.
TREE_ROWS = {"tree_softmax": (1, 1, 1), "tree_log_softmax": (1, 1, 1), "tree_logsumexp": (1, 0, 1), "tree_entropy": (1, 0, 1),
             "tree_adaptive_softmax": (1, 1, 2), "tree_softmax_backward": (2, 1, 0), "tree_log_softmax_backward": (2, 1, 1),
             "tree_cross_entropy": (1, 0, 1), "tree_cross_entropy_backward": (1, 1, 1)}


def format_of(kernel):
    return kernel.name.split()[-1].split("->")[0]


def row_loops(program, family):
    """The loops over a row's columns. A pass has as many items as its bytes hold."""
    kernel, wanted = program.kernel, ROW_PASSES[family]
    size = SIZE[format_of(kernel)]
    columns = [(loop, most) for loop in program.loops if loop.depth == 2 and (most := program.most(loop)).loaded > 0]
    if len(columns) != len(wanted):
        raise Malformed(f"{kernel.name}: {len(columns)} loops read columns, expected {len(wanted)}")
    found = {}
    for (loop, most), (role, reads, writes, exponentials) in zip(columns, wanted):
        items = most.loaded // (size * reads)
        if items * size * reads != most.loaded or items * size * writes != most.stored:
            raise Malformed(f"{kernel.name}, {role}: a pass loads {most.loaded} and stores {most.stored} bytes: "
                            f"not {reads} and {writes} tensors of {size} bytes an item")
        found[role] = (len(program.ordinary(loop, Work(exponentials * items, most.loaded, most.stored))), items)
    return found


def tree_loops(program, family):
    """The loop over rows of a kernel that holds a row in registers: a pass is a row. A thread of the ordinary pass loads and
    stores 16 bytes at a time. Kernels that read a long row part by part, and clusters and grids, have no count."""
    kernel = program.kernel
    _, layout, vectors, *_ = kernel.name.split()
    if layout in ("parts", "cluster", "grid"):
        return {}
    reads, writes, exponentials = TREE_ROWS[family]
    items = int(vectors) * 16 // SIZE[format_of(kernel)]
    rows = [loop for loop in program.loops if loop.depth == 1 and program.most(loop).loaded > 0]
    if len(rows) != 1:
        raise Malformed(f"{kernel.name}: {len(rows)} loops read rows, expected 1")
    loaded = 16 * int(vectors)
    return {"row": (len(program.ordinary(rows[0], Work(exponentials * items, reads * loaded, writes * loaded))), items)}


def mma_loops(program, family):
    """The loops over tiles of scores on tensor cores; a thread has 16 scores of a tile."""
    kernel = program.kernel
    adaptive, width = "true" in kernel.name.split(), int(kernel.name.split()[-2])
    tiles = [loop for loop in program.loops if loop.depth == 2 and program.most(loop).products > 0]
    steps = [("scores", 1)] if family == "mma_statistics" else [("scores", 1)] * adaptive + [("attention", 2)]
    if len(tiles) != len(steps):
        raise Malformed(f"{kernel.name}: {len(tiles)} loops of products, expected {len(steps)}")
    found, scores = {}, TILE_KEYS * TILE_QUERIES // WARP
    for loop, (role, tensors) in zip(tiles, steps):
        work = Work(scores, tensors * TILE_KEYS * width * 2 // THREADS, 0, tensors * TILE_KEYS * TILE_QUERIES * width // PRODUCT)
        found[role] = (len(program.ordinary(loop, work)), scores)
    return found


def tile_passes(family, adaptive):
    """The passes of a kernel: role; number of a thread's keys, dot products over the columns, and exponentials;
    whether the thread then goes through the tile's 128 keys for its own column. In key_backward queries take the place
    of keys."""
    statistics, weights = ("statistics", 4, 4, 4, False), ("weights and output", 1, 1, 1, True)
    gradient = ("gradient", 1, 2, 1 + adaptive, True)
    return {
        "attention": [statistics] * adaptive + [weights],
        "attention_statistics": [statistics],
        "part_attention": [weights],
        "part_statistics": [statistics],
        "query_backward": [statistics, ("sums", 1, 2, 1, False), gradient],
        "key_backward": [gradient],
    }[family]


def inner_loop(program, loop):
    """The kind of a loop without inner loops, and the items and instructions of its ordinary pass: the columns of a
    dot product, or the keys whose weight it tests."""
    instructions = program.ordinary(loop, Work(loaded=program.most(loop).loaded))
    loads = sum(i.name == "LDG" and i.bytes > 1 for i in instructions)
    if loads and sum(i.name in ("FFMA", "DFMA") for i in instructions) >= loads:
        return ("dot" if loads >= 16 else "none"), loads, len(instructions)
    tests = sum(i.name == "BRA" and is_conditional(i) for i in instructions) - 1  # the last one is the loop's own
    return ("columns" if loads and tests > 0 else "none"), tests, len(instructions)


def tile_loops(program, family):
    """The loops over keys in which a block takes a query through its keys, or a key through its queries. A thread has
    its own scores, each with a dot product over the columns; then its own column, for which it goes through all keys
    of the tile."""
    kernel, steps = program.kernel, tile_passes(family, "true" in program.kernel.name.split())
    tiles = []
    for loop in program.loops:
        inner = [(one, *inner_loop(program, one)) for one in loop.inside if not one.inside and one.depth == loop.depth + 1]
        tiles += [(loop, inner)] if any(kind == "dot" for _, kind, *_ in inner) else []
    if len(tiles) != len(steps):
        raise Malformed(f"{kernel.name}: {len(tiles)} loops over keys, expected {len(steps)}")
    found = {}
    for (tile, inner), (role, keys, products, exponentials, has_columns) in zip(tiles, steps):
        dots = [entry for entry in inner if entry[1] == "dot"]
        columns = [entry for entry in inner if entry[1] == "columns"][:1] if has_columns else []
        if len(dots) != products or len(columns) != has_columns or len({items for _, _, items, _ in dots}) != 1:
            raise Malformed(f"{kernel.name}, {role}: {len(dots)} dot products and {len(columns)} loops over a column's "
                            f"keys, expected {products} of one width and {int(has_columns)}")
        found[role] = (len(program.ordinary(tile, Work(exponentials), [loop.header for loop, *_ in dots + columns])), keys)
        # The sum of all dot products of a role.
        found[f"{role}: dot"] = (sum(count for *_, count in dots), dots[0][2] * keys)
        found |= {f"{role}: columns": (count, items) for *_, items, count in columns}
    return found


def merge_loops(program, _):
    """The loop over the parts of a split call: a thread adds a column of each."""
    found = [entry for loop in program.loops if not loop.inside and (entry := inner_loop(program, loop))[0] == "columns"]
    if not found:
        raise Malformed(f"{program.kernel.name}: no loop over parts")
    return {"parts": (found[0][2], found[0][1])}


TILES = ("attention", "attention_statistics", "part_attention", "part_statistics", "query_backward", "key_backward")
LOOPS = {"mma_attention": mma_loops, "mma_statistics": mma_loops, "merge_parts": merge_loops,
         **dict.fromkeys(ROW_PASSES, row_loops), **dict.fromkeys(TREE_ROWS, tree_loops), **dict.fromkeys(TILES, tile_loops)}


def counted_loops(kernel):
    """role -> (instructions of an ordinary pass, a thread's items in it), of a kernel that softcheck knows."""
    family = kernel.name.split()[0]
    if family not in LOOPS or format_of(kernel) not in SIZE:
        raise Malformed(f"{kernel.name}: kernels/cuda/instructions/items.py has no such kernel")
    try:
        return LOOPS[family](Program(kernel), family)
    except Malformed as error:
        raise Malformed(str(error) if str(error).startswith(kernel.name) else f"{kernel.name}: {error}") from error

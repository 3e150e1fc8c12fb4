"""A kernel's basic blocks and its loops."""

from dataclasses import dataclass, field

from sass import Malformed

# Instructions that end a thread or return from a function: no block follows.
ENDS = {"EXIT", "RET", "KILL", "BPT"}
# Branches with targets in registers, which this program cannot read.
INDIRECT = ("BRX", "JMX", "CALL.ABS")


@dataclass
class Block:
    begin: int  # of its instructions in the kernel's
    end: int
    successors: list = field(default_factory=list)


@dataclass
class Loop:
    header: int
    blocks: frozenset
    depth: int = 1
    inside: list = field(default_factory=list)  # all loops in it


def is_conditional(instruction):
    """A branch may also be conditional by an operand: BRA !P1, 0x40; BRA.DIV UR4, 0x40."""
    if instruction.predicate:
        return instruction.predicate not in ("@PT", "@UPT")
    return instruction.name in ("BRA", "JMP") and "," in instruction.operands


def basic_blocks(instructions):
    """Blocks in the order of their addresses; the first is the entry. Called functions are left out: they run rarely
    (divisions of subnormals)."""
    place = {instruction.address: i for i, instruction in enumerate(instructions)}
    leaders = {0}
    for i, instruction in enumerate(instructions):
        if instruction.opcode.startswith(INDIRECT):
            raise Malformed(f"an indirect branch at {instruction.address:#x}: {instruction.opcode}")
        if instruction.name in ("BRA", "JMP"):
            if instruction.target not in place:
                raise Malformed(f"a branch at {instruction.address:#x} to no instruction: {instruction.operands}")
            leaders.add(place[instruction.target])
        if instruction.name in ENDS or instruction.name in ("BRA", "JMP"):
            leaders.add(i + 1)
    starts = sorted(start for start in leaders if start < len(instructions))
    blocks = [Block(begin, end) for begin, end in zip(starts, [*starts[1:], len(instructions)])]
    of_start = {block.begin: i for i, block in enumerate(blocks)}
    for i, block in enumerate(blocks):
        last = instructions[block.end - 1]
        branches = last.name in ("BRA", "JMP")
        if branches:
            block.successors.append(of_start[place[last.target]])
        if (not branches and last.name not in ENDS) or is_conditional(last):
            if i + 1 < len(blocks) and i + 1 not in block.successors:
                block.successors.append(i + 1)
    return blocks


def reverse_postorder(blocks, without=None):
    """The blocks that the entry reaches, without passing through the block `without`."""
    order, seen, stack = [], {0, without}, [(0, iter(blocks[0].successors))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(blocks[following].successors)))
    return order[::-1]


def natural_loops(blocks):
    """Loops in the order of their headers; two back edges to one header are one loop."""
    order = reverse_postorder(blocks)
    rank = {block: i for i, block in enumerate(order)}
    predecessors, latches = {block: [] for block in order}, {}
    for block in order:
        for successor in blocks[block].successors:
            predecessors[successor].append(block)
            if rank[successor] <= rank[block]:
                latches.setdefault(successor, []).append(block)
    loops = []
    for header, ends in latches.items():
        if header and set(ends) & set(reverse_postorder(blocks, header)):
            raise Malformed(f"a loop with two entries at block {header}")
        inside, waiting = {header}, list(ends)
        while waiting:
            block = waiting.pop()
            if block not in inside:
                inside.add(block)
                waiting.extend(predecessors[block])
        loops.append(Loop(header, frozenset(inside)))
    for loop in loops:
        loop.depth = sum(loop.header in other.blocks for other in loops)
        loop.inside = [other for other in loops if other is not loop and other.header in loop.blocks]
    return sorted(loops, key=lambda loop: loop.header)

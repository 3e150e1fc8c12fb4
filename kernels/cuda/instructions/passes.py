"""The ordinary pass of a loop: every item is visible, and the maximum does not rise. The machine code has many ways
through a loop; the ordinary one is the cheapest that does the work of the items."""

import re
from functools import cache
from typing import NamedTuple

from loops import basic_blocks, natural_loops, reverse_postorder
from sass import Malformed


class Work(NamedTuple):
    """The least work of a pass."""
    exponentials: int = 0
    loaded: int = 0  # bytes of a thread by global loads, masks (single bytes) left out
    stored: int = 0  # by global stores
    products: int = 0  # of a warp on tensor cores, each 16 x 8 x 16


def is_exponential(instruction):
    """Whether it shifts the rounded exponent to its position, which softcheck's exponential does once: by 23 bits for
    f32, by 52 for f64 (20 in the upper register of 32 bits)."""
    text = f"{instruction.opcode} {instruction.operands}"
    return bool(re.match(r"(USHF|SHF)\.L\.U32 \w+(\.reuse)?, \w+(\.reuse)?, 0x(17|14), U?RZ$", text) or
                re.match(r"IMAD\.SHL(\.U32)? \w+, \w+(\.reuse)?, 0x(800000|100000), RZ$", text))


def work_of(instructions):
    return Work(sum(is_exponential(i) for i in instructions),
                sum(i.bytes for i in instructions if i.name == "LDG" and i.bytes > 1),
                sum(i.bytes for i in instructions if i.name == "STG"),
                sum(i.opcode.startswith("HMMA.16816") for i in instructions))


def runs_on(instructions, place, taken):
    """Whether the instruction at that place may run if the block's last branch is taken (or not). It is known if both
    have the same predicate, unchanged in between; otherwise the instruction may run."""
    instruction, last = instructions[place], instructions[-1]
    if taken is None or not instruction.predicate or not last.predicate:
        return True
    register = last.predicate.lstrip("@!")
    if instruction.predicate.lstrip("@!") != register:
        return True
    sets = re.compile(rf"^(\w+, )?{register}\b")
    if any(sets.match(between.operands) and "SETP" in between.name or between.name in ("PLOP3", "R2P")
           for between in instructions[place + 1:-1]):
        return True
    return (instruction.predicate == last.predicate) == taken


class Program:
    """A kernel with its blocks and loops."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.blocks = basic_blocks(kernel.instructions)
        self.order = reverse_postorder(self.blocks)
        self.loops = natural_loops(self.blocks)

    def of_blocks(self, blocks):
        return [i for block in blocks for i in self.kernel.instructions[self.blocks[block].begin:self.blocks[block].end]]

    def address(self, loop):
        return self.of_blocks([loop.header])[0].address

    @cache
    def work(self, block, following):
        """The work of a block when that block follows."""
        instructions, taken = self.of_blocks([block]), None
        if len(self.blocks[block].successors) == 2:
            taken = self.blocks[following].begin != self.blocks[block].end
        return work_of([i for at, i in enumerate(instructions) if runs_on(instructions, at, taken)])

    def steps(self, loop):
        """The steps of all passes, (block, next block, work, instructions), in an order that every pass follows; the
        last step of a pass leads back to the header. A pass enters an inner loop at most once, and its blocks count
        nothing."""
        inner = frozenset().union(*(one.blocks for one in loop.inside))
        rank, steps = {block: i for i, block in enumerate(block for block in self.order if block in loop.blocks)}, []
        for block in rank:
            for following in self.blocks[block].successors:
                if following == loop.header or rank.get(following, 0) > rank[block]:
                    work, count = (Work(), 0) if block in inner else (self.work(block, following), len(self.of_blocks([block])))
                    steps.append((block, following, work, count))
        return steps

    def most(self, loop):
        """The most work of each kind that any pass does."""
        best = {}
        for block, following, work, _ in reversed(self.steps(loop)):
            behind = Work() if following == loop.header else best.get(following)
            if behind is not None:
                best[block] = Work(*(max(most, a + b) for most, a, b in zip(best.get(block, Work()), work, behind)))
        return best[loop.header]

    def ordinary(self, loop, wanted, through=()):
        """The instructions of the ordinary pass, which does the wanted work. through: headers of inner loops that
        it must enter."""
        goal = (*wanted, *(1 for _ in through))
        # For each block, and for the end: the work done before it -> the fewest instructions, and their blocks.
        ways, done = {loop.header: {(0,) * len(goal): (0, ())}}, {}
        for block, following, work, count in self.steps(loop):
            ends = done if following == loop.header else ways.setdefault(following, {})
            gain = (*work, *(int(block == header) for header in through))
            for so_far, (spent, way) in ways.get(block, {}).items():
                sums = tuple(min(most, a + b) for most, a, b in zip(goal, so_far, gain))
                if sums not in ends or spent + count < ends[sums][0]:
                    ends[sums] = (spent + count, (*way, block) if count else way)
        if goal not in done:
            raise Malformed(f"{self.kernel.name}: no pass of the loop at {self.address(loop):#x} does {wanted}")
        return self.of_blocks(done[goal][1])

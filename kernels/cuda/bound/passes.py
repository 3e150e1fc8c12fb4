"""The ordinary pass of a loop: every item there, none masked, no larger maximum. The machine code has many ways through
a loop; the ordinary one is the cheapest that does the work of the items."""

import re
from dataclasses import dataclass

import loops
import rates
from sass import Malformed


@dataclass(frozen=True)
class Work:
    """What a pass must do at least."""
    exponentials: int = 0
    loaded: int = 0  # bytes of a thread by global loads, masks (single bytes) left out
    stored: int = 0  # by global stores
    flops: int = 0  # of a warp on tensor cores

    def totals(self):
        return tuple(getattr(self, field) for field in FIELDS)


FIELDS = ("exponentials", "loaded", "stored", "flops")


def is_exponential(instruction):
    """Whether it shifts the rounded exponent into its place, which softcheck's exponential does once: by 23 bits for f32,
    by 52 for f64, of which a register of 32 bits sees 20."""
    text = f"{instruction.opcode} {instruction.operands}"
    return bool(re.match(r"(USHF|SHF)\.L\.U32 \w+(\.reuse)?, \w+(\.reuse)?, 0x(17|14), U?RZ$", text) or
                re.match(r"IMAD\.SHL(\.U32)? \w+, \w+(\.reuse)?, 0x(800000|100000), RZ$", text))


def work_of(instructions):
    loaded = stored = flops = exponentials = 0
    for instruction in instructions:
        size = rates.bytes_of(instruction)
        if instruction.name == "LDG" and size > 1:
            loaded += size
        elif instruction.name == "STG":
            stored += size
        elif instruction.name == "HMMA":
            flops += rates.flops_of(instruction)
        exponentials += is_exponential(instruction)
    return Work(exponentials, loaded, stored, flops)


def runs_on(instructions, place, taken):
    """Whether the predicate of the instruction at that place lets it run where the block's last branch is taken or not.
    A branch on the same predicate, unchanged in between, tells; else it may."""
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
        self.blocks = loops.basic_blocks(kernel.instructions)
        self.loops = loops.natural_loops(self.blocks)
        self._work = {}

    def of_block(self, block):
        return self.kernel.instructions[self.blocks[block].begin:self.blocks[block].end]

    def of_blocks(self, blocks):
        return [instruction for block in blocks for instruction in self.of_block(block)]

    def address(self, loop):
        return self.kernel.instructions[self.blocks[loop.header].begin].address

    def work(self, block, successor):
        """What a block does where that one follows, as Work.totals()."""
        if (block, successor) not in self._work:
            instructions = self.of_block(block)
            taken = None
            if len(self.blocks[block].successors) == 2:
                taken = self.blocks[successor].begin != self.blocks[block].end
            running = [i for place, i in enumerate(instructions) if runs_on(instructions, place, taken)]
            self._work[block, successor] = work_of(running).totals()
        return self._work[block, successor]

    def inside(self, loop):
        """The blocks of the loops in it."""
        return frozenset().union(*(child.blocks for child in loop.children))

    def most(self, loop, field):
        """The most of a field of Work on any pass, loops inside left out."""
        place, inner = FIELDS.index(field), self.inside(loop)
        return loops.most_on_a_pass(self.blocks, loop, lambda b, s: 0 if b in inner else self.work(b, s)[place])

    def ordinary(self, loop, work, through=()):
        """The blocks of the ordinary pass. Blocks of loops inside cost nothing and do no work here; through: headers of
        those that it must go through."""
        inner = self.inside(loop)

        def cost(block):
            return 0 if block in inner else self.blocks[block].end - self.blocks[block].begin

        def payload(block, successor):
            own = (0,) * len(FIELDS) if block in inner else self.work(block, successor)
            return (*own, *(int(block == header) for header in through))

        way = loops.cheapest_pass(self.blocks, loop, cost, payload, (*work.totals(), *(1 for _ in through)))
        if way is None:
            raise Malformed(f"{self.kernel.name}: no pass of the loop at {self.address(loop):#x} does {work}")
        return [block for block in way if block not in inner]

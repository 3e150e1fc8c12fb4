"""A kernel's basic blocks, its loops, and the cheapest way through one pass of a loop."""

import heapq
from dataclasses import dataclass, field

from sass import Malformed

# They end a thread or leave a called function: nothing follows.
ENDS = {"EXIT", "RET", "KILL", "BPT"}
# Their targets are in registers: no table of them is read here.
INDIRECT = {"BRX", "JMX", "BRXU", "JMXU", "CALL.ABS"}


@dataclass
class Block:
    begin: int  # of its instructions in the kernel's
    end: int
    successors: list = field(default_factory=list)


@dataclass
class Loop:
    header: int
    latches: list  # blocks with an edge back to the header
    blocks: frozenset
    parent: "Loop" = None
    children: list = field(default_factory=list)

    @property
    def depth(self):
        return 1 if self.parent is None else 1 + self.parent.depth


def is_conditional(instruction):
    """A branch may also be conditional by an operand: BRA !P1, 0x40; BRA.DIV UR4, 0x40."""
    if instruction.predicate:
        return instruction.predicate not in ("@PT", "@UPT")
    return instruction.name in ("BRA", "JMP") and "," in instruction.operands


def basic_blocks(instructions):
    """Blocks in the order of their addresses; the first is the entry. A call is passed over: what it calls runs rarely
    (divisions of subnormals)."""
    place = {instruction.address: i for i, instruction in enumerate(instructions)}
    leaders = {0}
    for i, instruction in enumerate(instructions):
        if instruction.name in INDIRECT or ".".join([instruction.name, *instruction.modifiers[:1]]) in INDIRECT:
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


def reverse_postorder(blocks):
    """The blocks that the entry reaches."""
    order, seen, stack = [], {0}, [(0, iter(blocks[0].successors))]
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


def immediate_dominators(blocks, order):
    rank = {block: i for i, block in enumerate(order)}
    predecessors = {block: [] for block in order}
    for block in order:
        for successor in blocks[block].successors:
            predecessors[successor].append(block)
    dominator = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [p for p in predecessors[block] if p in dominator]
            meet = known[0]
            for other in known[1:]:
                while meet != other:
                    if rank[meet] > rank[other]:
                        meet = dominator[meet]
                    else:
                        other = dominator[other]
            if dominator.get(block) != meet:
                dominator[block] = meet
                changed = True
    return dominator, predecessors


def dominates(dominator, above, block):
    while block != above and dominator[block] != block:
        block = dominator[block]
    return block == above


def natural_loops(blocks):
    """Loops in the order of their headers, two back edges to one header being one loop, each with the loop around it."""
    order = reverse_postorder(blocks)
    rank = {block: i for i, block in enumerate(order)}
    dominator, predecessors = immediate_dominators(blocks, order)
    latches = {}
    for block in order:
        for successor in blocks[block].successors:
            if dominates(dominator, successor, block):
                latches.setdefault(successor, []).append(block)
            elif rank[successor] <= rank[block]:
                raise Malformed(f"a loop with two entries at block {successor}")
    loops = []
    for header, ends in latches.items():
        inside, waiting = {header}, list(ends)
        while waiting:
            block = waiting.pop()
            if block not in inside:
                inside.add(block)
                waiting.extend(predecessors[block])
        loops.append(Loop(header, sorted(ends), frozenset(inside)))
    for loop in loops:
        around = [other for other in loops if other is not loop and loop.header in other.blocks]
        loop.parent = min(around, key=lambda other: len(other.blocks), default=None)
        if loop.parent:
            loop.parent.children.append(loop)
    return sorted(loops, key=lambda loop: loop.header)


def edges_of_pass(blocks, loop):
    """The edges of one pass: those inside the loop without any back edge, so that loops inside run once at most."""
    order = [block for block in reverse_postorder(blocks) if block in loop.blocks]
    rank = {block: i for i, block in enumerate(order)}
    return order, {b: [s for s in blocks[b].successors if s in rank and rank[s] > rank[b]] for b in order}


def most_on_a_pass(blocks, loop, weight):
    """The largest sum of weight(block, next block) on any way from the header back to it."""
    order, edges = edges_of_pass(blocks, loop)
    best = {}
    for block in reversed(order):
        behind = [weight(block, s) + best[s] for s in edges[block] if s in best]
        if block in loop.latches:
            behind.append(weight(block, loop.header))
        if behind:
            best[block] = max(behind)
    return best[loop.header]


def cheapest_pass(blocks, loop, cost, payload, wanted):
    """The blocks of the cheapest way from the header back to it on which payload(block, next block), a tuple of counts,
    adds up to at least wanted; None where there is none."""
    _, edges = edges_of_pass(blocks, loop)
    start, end = (loop.header, (0,) * len(wanted)), (None, tuple(wanted))
    heap, best, before = [(0, 0, start)], {start: 0}, {}
    while heap:
        spent, _, state = heapq.heappop(heap)
        if state == end:
            way = []
            while state in before:
                state = before[state]
                way.append(state[0])
            return way[::-1]
        if spent > best[state]:
            continue
        block, so_far = state
        total = spent + cost(block)
        for successor in [*edges[block], *([loop.header] if block in loop.latches else [])]:
            sums = tuple(min(most, a + b) for most, a, b in zip(wanted, so_far, payload(block, successor)))
            following = (None if successor == loop.header else successor, sums)
            if following[0] is None and following != end:
                continue
            if total < best.get(following, float("inf")):
                best[following], before[following] = total, state
                heapq.heappush(heap, (total, len(best), following))
    return None

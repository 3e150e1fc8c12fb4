"""Recorded counts: a line for each kernel, with the instructions and items of an ordinary pass of each of its loops."""

HEADER = "kernel\tregisters\tstack\tper item\tloops: instructions/items of a pass"
COLUMNS = 128  # of attention, whose kernels take any number of them
MOST_REGISTERS = 128  # of a thread of a cluster or a grid, whose blocks of 512 have a multiprocessor each


def per_item(loops):
    """Instructions of a thread for an item, over all passes. A loop over columns runs for each of them."""
    return sum((COLUMNS if ": " in role else 1) * instructions / items for role, (instructions, items) in loops.items())


def written(compiler, kernels):
    """The text of a file of counts. kernels: name -> (registers, stack, role -> (instructions, items))."""
    lines = [f"# compiler: {compiler}", HEADER]
    for name, (registers, stack, loops) in sorted(kernels.items()):
        passes = ", ".join(f"{role} {instructions}/{items}" for role, (instructions, items) in loops.items())
        lines.append(f"{name}\t{registers}\t{stack}\t{per_item(loops):.1f}\t{passes}")
    return "\n".join(lines) + "\n"


def changes(now, recorded):
    """The lines that only one of two texts of written() has, kernel by kernel."""
    now, recorded = now.splitlines(), recorded.splitlines()
    return sorted({f"{line}\t(recorded)" for line in set(recorded) - set(now)} | {f"{line}\t(now)" for line in set(now) - set(recorded)})


def kind(name):
    """The op and the format of a kernel."""
    return name.split()[0], name.split()[-1]


def over_budget(kernels, text):
    """A line for each kernel that exceeds its op's budget of registers, stack or, of the layouts whose threads have the most
    items, instructions for an item. text: that of budgets.tsv; a kernel whose op it lacks has no limits."""
    budgets = {op: (int(registers), float(limit)) for op, registers, limit, *_ in
               (line.split("\t") for line in text.splitlines()[1:])}
    most, over = {}, []
    for name, (*_, loops) in kernels.items():
        most[kind(name)] = max([most.get(kind(name), 0), *(items for _, items in loops.values())])
    for name, (registers, stack, loops) in sorted(kernels.items()):
        if name.split()[0] not in budgets:
            continue
        allowed, limit = budgets[name.split()[0]]
        if {"cluster", "grid"} & set(name.split()):
            allowed = MOST_REGISTERS
        found = [f"{registers} registers of {allowed}"] * (registers > allowed) + [f"{stack} bytes of stack"] * (stack > 0)
        found += [f"{per_item(loops):.1f} instructions an item of {limit}"
                  for _, items in loops.values() if items == most[kind(name)] and per_item(loops) > limit]
        over += [f"{name}: {text}" for text in found]
    return over

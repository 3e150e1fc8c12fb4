"""Recorded counts: a line for each kernel, with the instructions and items of an ordinary pass of each of its loops."""

HEADER = "kernel\tregisters\tstack\tper item\tloops: instructions/items of a pass"
COLUMNS = 128  # of attention, whose kernels take any number of them


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

"""Recorded counts: how many instructions of each class an ordinary pass of each loop has."""

import rates
from sass import Malformed

COLUMNS = ["kernel", "pass", "items", *rates.CLASSES]


def rows_of(bounds):
    return {(bound.kernel, one.role): (one.items, one.counts) for bound in bounds for one in bound.passes}


def written(bounds, compiler):
    """The text of a file of counts."""
    lines = [f"# compiler: {compiler}", "\t".join(COLUMNS)]
    for (kernel, role), (items, counts) in sorted(rows_of(bounds).items()):
        lines.append("\t".join([kernel, role, str(items), *(str(counts[kind]) for kind in rates.CLASSES)]))
    return "\n".join(lines) + "\n"


def read(text, source):
    """The compiler and the rows of written()."""
    lines = text.splitlines()
    if len(lines) < 2 or not lines[0].startswith("# compiler: ") or lines[1].split("\t") != COLUMNS:
        raise Malformed(f"{source}: not a file of counts: its first lines are a compiler and {' '.join(COLUMNS)}")
    rows = {}
    for number, line in enumerate(lines[2:], 3):
        fields = line.split("\t")
        if len(fields) != len(COLUMNS) or not all(field.isdecimal() for field in fields[2:]):
            raise Malformed(f"{source}:{number}: need {len(COLUMNS)} fields, numbers from the third on, got '{line}'")
        if (fields[0], fields[1]) in rows:
            raise Malformed(f"{source}:{number}: {fields[0]}, {fields[1]} a second time")
        rows[fields[0], fields[1]] = (int(fields[2]), dict(zip(rates.CLASSES, map(int, fields[3:]))))
    return lines[0].removeprefix("# compiler: "), rows


def compared(now, recorded):
    """What is worse than recorded, and what is better: sentences."""
    worse, better = [], []
    for key in sorted(now.keys() | recorded.keys()):
        where = ", ".join(key)
        if key not in recorded:
            worse.append(f"{where}: not recorded")
        elif key not in now:
            worse.append(f"{where}: recorded, but not there")
        else:
            (items, counts), (items_then, then) = now[key], recorded[key]
            if items != items_then:
                worse.append(f"{where}: {items} items a pass, recorded {items_then}")
            for kind in rates.CLASSES:
                if counts[kind] != then[kind]:
                    (worse if counts[kind] > then[kind] else better).append(
                        f"{where}: {counts[kind]} {kind} instructions, recorded {then[kind]}")
    return worse, better

"""The instructions that the GPU kernels need for an item, read from their machine code.

    python3 kernels/cuda/instructions check|record FILE CUOBJDUMP NVCC OBJECT...

OBJECT is an object file of nvcc with code for sm_90. `record` writes the counts of each kernel and loop to FILE, `check`
compares with them; budgets.tsv in this folder limits them. Exit codes: 0, 1 where a count differs or is over its
budget, 2 usage, 3 malformed input, 4 where a tool is missing or FILE is another compiler's.
"""

import os
import subprocess
import sys

sys.dont_write_bytecode = True

import counts  # noqa: E402 (the line above comes first: the sources' folder stays as it is)
from items import counted_loops  # noqa: E402
from sass import Malformed, parsed  # noqa: E402


class Missing(Exception):
    """A tool is missing, or a file of counts is of another compiler."""


def run(tool, *arguments):
    # cuobjdump calls the nvdisasm in its own folder.
    path = f"{os.path.dirname(tool)}{os.pathsep}{os.environ.get('PATH', '')}"
    try:
        done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    except OSError as error:
        raise Missing(f"{tool}: {error.strerror}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Malformed(f"{tool} {' '.join(arguments)}: {said[0] if said else f'exit code {done.returncode}'}")
    return done.stdout


def check(path, compiler, text):
    with open(path, encoding="utf-8") as file:
        recorded = file.read()
    if not recorded.startswith(f"# compiler: {compiler}\n"):
        raise Missing(f"{path} begins with '{recorded.partition(chr(10))[0]}', this is nvcc {compiler}: run ./run instructions")
    changes = counts.changes(text, recorded)
    print("\n".join([*changes, f"{len(text.splitlines()) - 2} kernels, {len(changes)} lines that differ"]))
    return 1 if changes else 0


def main():
    if len(sys.argv) < 6 or sys.argv[1] not in ("check", "record"):
        print(__doc__, file=sys.stderr)
        return 2
    verb, path, cuobjdump, nvcc, *objects = sys.argv[1:]
    try:
        words = run(nvcc, "--version").split()
        compiler = next((word for word in words if word.startswith("V") and word[1:2].isdigit()), "unknown")  # V13.0.88
        kernels = {}
        for source in objects:
            code, resources = (run(cuobjdump, what, "-arch", "sm_90", source) for what in ("-sass", "-res-usage"))
            for one in parsed(code, resources, source):
                if one.name in kernels:
                    raise Malformed(f"{source}: a second kernel named {one.name}")
                kernels[one.name] = (one.registers, one.stack, counted_loops(one))
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "budgets.tsv"), encoding="utf-8") as file:
            over = counts.over_budget(kernels, file.read())
        if over:
            print("\n".join([*over, f"{len(over)} budgets are exceeded"]))
            return 1
        text = counts.written(compiler, kernels)
        if verb == "check":
            return check(path, compiler, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        print(f"{path}: {len(kernels)} kernels recorded")
    except Missing as error:
        print(f"instructions: {error}", file=sys.stderr)
        return 4
    except (Malformed, OSError, UnicodeDecodeError) as error:
        print(f"instructions: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())

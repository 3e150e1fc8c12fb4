"""The bound on paper: what an H100 can reach with the machine code of kernels/cuda, from published rates alone.

    python3 kernels/cuda/bound [--check FILE | --record FILE] [--page FILE] OBJECT...

OBJECT is an object file of nvcc with code for sm_90, or a text that `cuobjdump -sass` printed (.sass). Without an option
a table is printed. --record writes the counts of instructions of each loop, --check compares with such a file, --page
renews the tables of docs/kernels/gpu_bound.md. Exit codes: 0, 1 where a count grew, 2 usage, 3 malformed input, 4 where a
tool is missing or the file of counts is another compiler's.
"""

import argparse
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import counts  # noqa: E402 (the line above comes first: the sources' folder stays as it is)
import page  # noqa: E402
from models import bound  # noqa: E402
from sass import Malformed, add_resources, parsed  # noqa: E402


class Missing(Exception):
    """A tool that is not here, or a file of counts that does not fit it."""


def run(tool, *arguments):
    try:
        done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{os.path.dirname(tool)}{os.pathsep}{os.environ.get('PATH', '')}"})
    except OSError as error:
        raise Missing(f"{tool}: {error.strerror}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Malformed(f"{tool} {' '.join(arguments)}: {said[0] if said else f'exit code {done.returncode}'}")
    return done.stdout


def tool_path(name, given):
    path = given or shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    if not path:
        raise Missing(f"no {name} here: it is part of NVIDIA's CUDA toolkit, and of PyPI's nvidia-cuda-{name}")
    return path


def kernels_of(source, arguments):
    """cuobjdump calls nvdisasm, which lies beside it."""
    if source.endswith(".sass"):
        with open(source, encoding="utf-8") as file:
            return parsed(file.read(), source)
    if not os.path.isfile(source):
        raise Malformed(f"{source}: no such file")
    cuobjdump = tool_path("cuobjdump", arguments.cuobjdump)
    kernels = parsed(run(cuobjdump, "-sass", "-arch", "sm_90", source), source)
    add_resources(kernels, run(cuobjdump, "-res-usage", "-arch", "sm_90", source), source)
    return kernels


def compiler_of(arguments):
    """"V13.0.88", as nvcc calls itself."""
    lines = run(tool_path("nvcc", arguments.nvcc), "--version").splitlines()
    return next((word for line in lines if "release" in line for word in line.split() if word.startswith("V")), "unknown")


def check(bounds, arguments):
    with open(arguments.check, encoding="utf-8") as file:
        compiler, recorded = counts.read(file.read(), arguments.check)
    here = compiler_of(arguments)
    if compiler != here:
        raise Missing(f"{arguments.check} is of nvcc {compiler}, this is {here}: run ./run bound and commit the change")
    worse, better = counts.compared(counts.rows_of(bounds), recorded)
    for sentence in worse:
        print(sentence)
    if better:
        print(f"{len(better)} counts fell, for example {better[0]}: ./run bound records them")
    print(f"{len(bounds)} kernels, {len(recorded)} loops recorded, {len(worse)} changes for the worse")
    return 1 if worse else 0


def written_to(path, text):
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


def main():
    parser = argparse.ArgumentParser(prog="bound", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("objects", nargs="+", metavar="OBJECT")
    parser.add_argument("--cuobjdump", help="NVIDIA's disassembler, nvdisasm beside it; else from PATH")
    parser.add_argument("--nvcc", help="the compiler of the objects; else from PATH")
    wanted = parser.add_mutually_exclusive_group()
    wanted.add_argument("--check", metavar="FILE", help="compare with recorded counts")
    wanted.add_argument("--record", metavar="FILE", help="record the counts")
    parser.add_argument("--page", metavar="FILE", help="renew the tables of the page")
    arguments = parser.parse_args()
    try:
        bounds = [bound(kernel) for source in arguments.objects for kernel in kernels_of(source, arguments)]
        bounds.sort(key=lambda one: one.kernel)
        if arguments.page:
            with open(arguments.page, encoding="utf-8") as file:
                text = file.read()
            written_to(arguments.page, page.renewed(text, bounds, arguments.page))
        if arguments.record:
            written_to(arguments.record, counts.written(bounds, compiler_of(arguments)))
            print(f"{arguments.record}: {len(counts.rows_of(bounds))} loops of {len(bounds)} kernels recorded")
        if arguments.check:
            return check(bounds, arguments)
        if not arguments.page and not arguments.record:
            print(page.terminal(bounds), end="")
    except Missing as error:
        print(f"bound: {error}", file=sys.stderr)
        return 4
    except (Malformed, OSError, UnicodeDecodeError) as error:
        print(f"bound: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The stages of session.py, each in a process of its own, and the file that they append their results to."""
import ctypes
import functools
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import time

from device import IGNORED, VERSION_2, DLTensor, Driver, takes

LAYOUTS = ["default"] + [f"{kind}:{warps}" for kind in ("held", "parts") for warps in (1, 2, 4, 8, 16)] + [
    f"cluster:{n}" for n in (2, 4, 8)] + [f"grid:{n}" for n in (2, 4, 8, 16, 32, 64, 128)]


def layouts_of(n):
    """A grid takes only rows that no block holds."""
    return [layout for layout in LAYOUTS if n > 8192 or not layout.startswith("grid")]


# Whether the result is a number for each row, which is then an f32.
OF_ROWS = {"softmax": False, "log_softmax": False, "adaptive_softmax": False, "logsumexp": True, "entropy": True,
           "softmax_backward": False, "log_softmax_backward": False, "cross_entropy": True, "cross_entropy_backward": False}
DTYPES = {"f32": (2, 32, "f"), "f16": (2, 16, "e"), "bf16": (4, 16, None), "i64": (0, 64, "q")}
OF_EACH_ROW = {"labels": "i64", "upstream": "f32"}  # inputs that have a number for each row
TAIL = 37  # rows so much shorter end within a packet, and begin within one: other paths of the same layout
DRY = (("softmax", "f32"), ("entropy", "bf16"), ("softmax_backward", "f32"), ("cross_entropy", "f16"))  # of a dry run
COLUMNS = (1024, 2048, 4096, 8192, 16384, 32768, 131072, 1 << 20)


def fail(message, status=2):
    print(f"gpu: {message}", file=sys.stderr)
    sys.exit(status)


# --- results
class Lines:
    """The file of results. Bytes behind the last whole line are what a cut-off left."""

    def __init__(self, path):
        self.path = path
        text = path.read_bytes() if path.exists() else b""
        whole = text[:text.rfind(b"\n") + 1]
        if whole != text:
            os.truncate(path, len(whole))
        self.all = []
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self.all.append({**json.loads(line)})
            except (ValueError, TypeError):
                fail(f"--results needs lines of JSON objects, got {line[:60]!r} at {path}:{number}", 3)

    def add(self, **line):
        with open(self.path, "ab", buffering=0) as file:
            file.write((json.dumps(line) + "\n").encode())
        self.all.append(line)

    def results(self, stage):
        return {line["key"]: line for line in self.all if line.get("stage") == stage and "key" in line}

    def ended(self, stage, *how):
        return any(line.get("stage") == stage and line.get("end", "").startswith(how or ("done",)) for line in self.all)

    def begun(self, stage):
        """The item that began last, if it has no result."""
        keys = [line["begin"] for line in self.all if line.get("stage") == stage and "begin" in line]
        return keys[-1] if keys and keys[-1] not in self.results(stage) else None


# --- calls
def inputs_of(op):
    return VERSION_2.get(op, (0, ("logits",)))[1]


def call_kernel(function, op, dtype, rows, n, inputs, out, smoothing=0.0, on_device=False):
    """Whether the kernel took the call; inputs, by name, and out are addresses."""
    def view(data, of_row, kind):
        shape = (rows,) if of_row else (rows, n)
        code, bits, _ = DTYPES[kind]
        return DLTensor(data, (ctypes.c_int32 * 2)(2 if on_device else 1, 0), len(shape), code, bits, 1,
                        (ctypes.c_int64 * len(shape))(*shape), None, 0)

    views = [view(inputs[name], name in OF_EACH_ROW, OF_EACH_ROW.get(name, dtype)) for name in inputs_of(op)]
    return takes(function, op, views, [view(out, OF_ROWS[op], "f32" if OF_ROWS[op] else dtype)], smoothing)


def numbers_of_rows(name, rows, n, some_ignored):
    """Labels: the last class, another one, and so on; upstream gradients."""
    if name == "upstream":
        return struct.pack(f"<{rows}f", *(0.75 - 3 * (row % 2) for row in range(rows)))
    return struct.pack(f"<{rows}q", *(IGNORED if some_ignored and row % 3 == 1 else (n - 1 - 7919 * row) % n for row in range(rows)))


@functools.lru_cache(maxsize=len(DTYPES))
def logits_of(dtype, count):
    draw = random.Random(count).gauss
    values = [draw(0, 3) for _ in range(min(count, 4099))]
    _, bits, code = DTYPES[dtype]
    if code:
        some = struct.pack(f"<{len(values)}{code}", *values)
    else:
        some = b"".join(struct.pack("<f", value)[2:] for value in values)
    size = count * bits // 8  # repeat the bytes: a list of 2^27 numbers takes minutes and gigabytes
    return (some * (size // len(some) + 1))[:size]


class Emulator:
    """A Driver on the memory of this process."""

    def __init__(self):
        self.buffers = []

    @staticmethod
    def facts():
        return {"device": "emulator", "capability": 90, "multiprocessors": 1, "memory_clock": 1000}

    @staticmethod
    def synchronize():
        pass

    def memory(self, size):
        self.buffers.append(ctypes.create_string_buffer(size))
        return ctypes.c_uint64(ctypes.addressof(self.buffers[-1]))

    @staticmethod
    def upload(to, source):
        ctypes.memmove(to.value, source, len(source))

    @staticmethod
    def copy(to, source, size):
        ctypes.memmove(to.value, source.value, size)

    @staticmethod
    def seconds(work, before):
        before()
        work()
        return 1.0


# --- stages
class Stage:
    def __init__(self, options):
        self.options, self.lines = options, Lines(options.results / "session.jsonl")
        self.name, self.dry = options.stage, options.dry_run
        self.machine = "emulated" if self.dry else "cuda"
        self.known = self.lines.results(self.name)

    def item(self, key, work):
        """work() returns the fields of the result; nothing happens if there is one."""
        if key in self.known:
            return
        self.lines.add(stage=self.name, begin=key)
        self.fault = None
        for fault in self.options.fault.split(","):
            stage, _, rest = fault.partition("=")
            kind, _, where = rest.partition("@")
            if stage == self.name and where in ("", key):
                self.fault = kind
        if self.fault == "hang":
            time.sleep(3600)
        if self.fault == "crash":
            os.abort()
        self.lines.add(stage=self.name, key=key, **work())

    @functools.cached_property
    def driver(self):
        return Emulator() if self.dry else Driver()

    def library(self, machine):
        return ctypes.CDLL(str(self.options.build / f"kernels/libsoftcheck_{machine}_kernels.so"))

    def contracts(self):
        """The lines of the tree kernels of this machine: symbol, op, dtype, contract, domain."""
        table = (self.options.build / "kernels/CONTRACTS.tsv").read_text().splitlines()
        lines = [[*line.split("\t")[1:5], line.split("\t")[-1]] for line in table]
        return [line for line in lines if line[0] == f"softcheck_{self.machine}_{line[1]}" and line[1] in OF_ROWS and line[2] in DTYPES]

    def rows(self):
        """Op, dtype and columns of what is verified and tuned, short rows first."""
        ops = [(op, dtype) for _, op, dtype, *_ in self.contracts()]
        if self.dry:
            return [(op, dtype, n) for n in (96, 2500) for op, dtype in ops if (op, dtype) in DRY] + [("cross_entropy_backward", "f32", 17000)]
        return [(op, dtype, n) for n in COLUMNS for op, dtype in ops]

    def probe(self):
        self.item("device", lambda: {"ok": True, **self.driver.facts()})
        if self.dry:
            return
        size = 1 << 28
        one, other = self.driver.memory(size), self.driver.memory(size)
        copy = functools.partial(self.driver.copy, one, other, size)
        self.item("copy", lambda: {"ok": True, "bytes": 2 * size, "seconds": [self.driver.seconds(copy) for _ in range(16)][1:]})

    def verify(self):
        judged, strict = self.library(self.machine), self.library("strict")

        def bits(library, machine, op, dtype, n, layout):
            rows = 3
            logits = logits_of(dtype, rows * n + 1)
            item = DTYPES[dtype][1] // 8
            of = {"logits": logits[item:], "y": logits[item:], "g": logits[:-item],
                  **{name: numbers_of_rows(name, rows, n, True) for name in OF_EACH_ROW}}
            size = rows * 4 if OF_ROWS[op] else len(logits) - item
            out = ctypes.create_string_buffer(b"\xcd" * size, size)
            os.environ["SOFTCHECK_TREE_LAYOUT"] = layout
            sources = {name: ctypes.create_string_buffer(of[name], len(of[name])) for name in inputs_of(op)}
            addresses = {name: ctypes.addressof(source) for name, source in sources.items()}
            taken = call_kernel(getattr(library, f"softcheck_{machine}_{op}"), op, dtype, rows, n, addresses,
                                ctypes.addressof(out), 0.1 if n % 2 else 0.0)
            return out.raw if taken else None

        for op, dtype, n in self.rows():
            expected = functools.lru_cache(None)(lambda n, op=op, dtype=dtype: bits(strict, "strict", op, dtype, n, "default"))
            for layout in layouts_of(n):
                def compared(op=op, dtype=dtype, n=n, layout=layout, expected=expected):
                    for columns in (n, n - TAIL):
                        found = bits(judged, self.machine, op, dtype, columns, layout)
                        if found is None:
                            self.driver.synchronize()  # a fault of the device is no refusal, and would fail all later calls
                            return {"ok": False if layout == "default" else None, "why": "refused"}
                        if self.fault == "wrong":
                            found = bytes([found[0] ^ 1]) + found[1:]
                        if found != expected(columns):
                            return {"ok": False, "columns": columns}
                    return {"ok": True}
                self.item(f"{op} {dtype} {n} {layout}", compared)

    def tune(self):
        verified = self.lines.results("verify")
        right = {key for key, line in verified.items() if line["ok"]}
        judged = self.library(self.machine)
        size, turns = (1 << 17, 3) if self.dry else (1 << 28, 16)
        memory = {name: self.driver.memory(size) for name in ("logits", "g", "out")}
        memory |= {name: self.driver.memory(size // 128) for name in OF_EACH_ROW}  # 8 bytes for each row of 1024 columns of 16 bits
        addresses = {"y": memory["logits"].value, **{name: of.value for name, of in memory.items()}}

        def timed(op, dtype, n):
            layouts = [layout for layout in layouts_of(n) if f"{op} {dtype} {n} {layout}" in right]
            times = {layout: [] for layout in layouts}
            rows = size // (DTYPES[dtype][1] // 8) // n
            rows = min(rows, 2) if self.dry else rows
            self.driver.upload(memory["logits"], logits_of(dtype, size * 8 // DTYPES[dtype][1]))
            self.driver.copy(memory["g"], memory["logits"], size)
            for name in OF_EACH_ROW:
                self.driver.upload(memory[name], numbers_of_rows(name, rows, n, False))
            kernel = getattr(judged, f"softcheck_{self.machine}_{op}")
            for turn in range(turns):
                for layout in layouts:
                    os.environ["SOFTCHECK_TREE_LAYOUT"] = layout
                    taken = []
                    work = lambda: taken.append(call_kernel(  # noqa: E731
                        kernel, op, dtype, rows, n, addresses, addresses["out"], on_device=not self.dry))
                    took = self.driver.seconds(work, lambda: self.driver.copy(memory["out"], memory["logits"], size))
                    if not taken[0]:
                        raise RuntimeError(f"{op} {dtype} {n} {layout} was refused")
                    if self.dry:  # a clock that prefers grids, and many warps
                        took = (0.125 if layout.startswith("grid") else 1) / int(layout.replace("default", ":3").split(":")[1])
                    if turn:  # the first round warms up
                        times[layout].append(took)
            return {"ok": True, "seconds": {layout: statistics.median(of) for layout, of in times.items()}}

        waiting = 0
        for op, dtype, n in self.rows():
            if all(f"{op} {dtype} {n} {layout}" in verified for layout in layouts_of(n)):
                self.item(f"{op} {dtype} {n}", functools.partial(timed, op, dtype, n))
            else:
                waiting += 1
        if waiting:
            fail(f"{waiting} kinds of rows wait for verify", 4)

    def judge(self):
        program = self.options.build / "softcheck"
        library = self.options.build / f"kernels/libsoftcheck_{self.machine}_kernels.so"
        lines = [line for line in self.contracts() if not self.dry or line[1:3] == ["logsumexp", "f32"]]
        if self.dry:  # the strict kernel has the emulated one's bits and is quicker
            library = self.options.build / "kernels/libsoftcheck_strict_kernels.so"
        for symbol, op, dtype, contract, domain in lines:
            name = symbol.replace("emulated", "strict")
            command = [program, "kernel", f"{library}:{name}", "--op", op, "--dtype", dtype, "--contract", contract, "--require",
                       "deterministic,batch-invariant", "--effort", "quick", *(["--domain", domain] if domain != "-" else []),
                       *(["--cases", "20"] if self.dry else ["--device", "cuda"])]
            self.item(f"{op} {dtype}", functools.partial(self.program, command))

    def program(self, command):
        if not shutil.which(str(command[0])):
            return {"ok": None, "why": f"missing: {pathlib.Path(command[0]).name}"}
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        return {"ok": done.returncode == 0, "exit": done.returncode, "said": said[-1][:200] if said else ""}

    def all_kernels(self, *arguments):
        """softcheck_gpu on all kernels, those of attention too; a dry run names a program that is not there."""
        program = self.options.build / ("kernels/gpu/absent" if self.dry else "kernels/gpu/softcheck_gpu")
        return [str(program), *arguments, "--results", str(self.options.results)]

    def compare(self):
        self.item("all kernels", lambda: self.program(self.all_kernels("--no-benchmarks")))

    def count(self):
        for tool in ("memcheck", "racecheck"):
            self.item(tool, lambda tool=tool: self.program(
                ["absent" if self.dry else "compute-sanitizer", "--tool", tool, *self.all_kernels("--no-benchmarks")]))

    def time_all(self):
        self.item("all kernels", lambda: self.program(self.all_kernels()))

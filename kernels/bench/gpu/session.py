#!/usr/bin/env python3
"""What a GPU is asked within a number of seconds: ./run gpu --seconds N. Stages, the most valuable first, each a process.

Results are lines of JSON, appended to RESULTS/session.jsonl one by one; a second call goes on where the first ended.
A stage that is silent for too long is killed, and the item that it had begun counts as failed. --dry-run: on the emulator.

    {"session": {...}}                          what ran, the first line
    {"stage": S, "begin": KEY}                  an item begins
    {"stage": S, "key": KEY, "ok": true, ...}   its result; false: wrong, or why it has none; null: refused or missing
    {"stage": S, "end": "done"}                 or how else the stage ended
"""
import argparse
import ctypes
import functools
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from device import Call, DLTensor, Driver  # noqa: E402 (the line above comes first: the sources' folder stays as it is)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# Stage and its share of the seconds, in the order of their value.
STAGES = {"probe": 0.03, "verify": 0.25, "tune": 0.3, "peers": 0.2, "judge": 0.12, "compare": 0.05, "count": 0.05, "time_all": 1}
ITEM_SECONDS = {"probe": 20, "verify": 30, "tune": 30, "peers": 90, "judge": 90, "compare": 90, "count": 90, "time_all": 300}
MOST_FAILURES = 3  # of a stage: then it is left
LAYOUTS = ["default"] + [f"{kind}:{warps}" for kind in ("held", "parts") for warps in (1, 2, 4, 8, 16)]
GAIN = 1.02  # a winner is faster than the default by this factor
# Items of an input; of the ops whose result is a number for each row, that is an f32.
OF_ROWS = {"softmax": False, "log_softmax": False, "adaptive_softmax": False, "logsumexp": True, "entropy": True}
DTYPES = {"f32": (2, 32, "f"), "f16": (2, 16, "e"), "bf16": (4, 16, None)}
TAIL = 37  # rows so much shorter end within a packet, and begin within one: other paths of the same layout
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
def call_kernel(function, op, dtype, rows, n, logits, out, on_device=False):
    """Whether the kernel took the call; logits and out are addresses."""
    views = []
    for data, shape, kind in ((logits, (rows, n), dtype), (out, *(((rows,), "f32") if OF_ROWS[op] else ((rows, n), dtype)))):
        code, bits, _ = DTYPES[kind]
        views.append(DLTensor(data, (ctypes.c_int32 * 2)(2 if on_device else 1, 0), len(shape), code, bits, 1,
                              (ctypes.c_int64 * len(shape))(*shape), None, 0))
    pointers = [(ctypes.POINTER(DLTensor) * 1)(ctypes.pointer(view)) for view in views]
    return function(ctypes.byref(Call(1, 1, 1, pointers[0], pointers[1], 1.0, 1.0, 0, None))) == 0


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
    @staticmethod
    def facts():
        return {"device": "emulator", "capability": 90, "multiprocessors": 1}

    @staticmethod
    def synchronize():
        pass


# --- stages: each runs in a process of its own
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
        """The lines of the tree kernels of this machine: symbol, op, dtype, contract."""
        prefix = f"softcheck_{self.machine}_tree_"
        table = (self.options.build / "kernels/CONTRACTS.tsv").read_text().splitlines()
        return [line.split("\t")[1:5] for line in table if "\t" + prefix in line]

    def rows(self):
        """Op, dtype and columns of what is verified and tuned, short rows first."""
        ops = [(op, dtype) for _, op, dtype, _ in self.contracts() if op in OF_ROWS]
        if self.dry:
            return [(op, dtype, n) for n in (96, 2500) for op, dtype in ops if (op, dtype) in (("softmax", "f32"), ("entropy", "bf16"))]
        return [(op, dtype, n) for n in COLUMNS for op, dtype in ops]

    def probe(self):
        self.item("device", lambda: {"ok": True, **self.driver.facts()})
        if self.dry:
            return
        size = 1 << 28
        one, other = self.driver.memory(size), self.driver.memory(size)
        copy = lambda: self.driver.ask("cuMemcpyDtoDAsync_v2", one, other, ctypes.c_size_t(size), None)  # noqa: E731
        self.item("copy", lambda: {"ok": True, "bytes": 2 * size, "seconds": [self.driver.seconds(copy) for _ in range(16)][1:]})

    def verify(self):
        judged, strict = self.library(self.machine), self.library("strict")

        def bits(library, machine, op, dtype, n, layout):
            rows = 3
            logits = logits_of(dtype, rows * n)
            size = rows * 4 if OF_ROWS[op] else len(logits)
            out = ctypes.create_string_buffer(b"\xcd" * size, size)
            os.environ["SOFTCHECK_TREE_LAYOUT"] = layout
            source = ctypes.create_string_buffer(logits, len(logits))
            taken = call_kernel(getattr(library, f"softcheck_{machine}_tree_{op}"), op, dtype, rows, n,
                                ctypes.addressof(source), ctypes.addressof(out))
            return out.raw if taken else None

        for op, dtype, n in self.rows():
            expected = functools.lru_cache(None)(lambda n, op=op, dtype=dtype: bits(strict, "strict", op, dtype, n, "default"))
            for layout in LAYOUTS:
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
        size = 1 << 28
        memory = [] if self.dry else [self.driver.memory(size) for _ in range(2)]

        def timed(op, dtype, n):
            layouts = [layout for layout in LAYOUTS if f"{op} {dtype} {n} {layout}" in right]
            times = {layout: [] for layout in layouts}
            if not self.dry:
                source = logits_of(dtype, size * 8 // DTYPES[dtype][1])
                self.driver.ask("cuMemcpyHtoD_v2", memory[0], source, ctypes.c_size_t(len(source)))
            for turn in range(16):
                for layout in layouts:
                    os.environ["SOFTCHECK_TREE_LAYOUT"] = layout
                    if self.dry:  # a clock that prefers many warps
                        times[layout].append(1 / int(layout.replace("default", ":3").split(":")[1]))
                        continue
                    taken = []
                    work = lambda: taken.append(call_kernel(  # noqa: E731
                        getattr(judged, f"softcheck_cuda_tree_{op}"), op, dtype, size // (DTYPES[dtype][1] // 8) // n, n,
                        memory[0].value, memory[1].value, True))
                    took = self.driver.seconds(work, lambda: self.driver.ask(
                        "cuMemcpyDtoDAsync_v2", memory[1], memory[0], ctypes.c_size_t(size), None))
                    if not taken[0]:
                        raise RuntimeError(f"{op} {dtype} {n} {layout} was refused")
                    if turn:  # the first round warms up
                        times[layout].append(took)
            return {"ok": True, "seconds": {layout: statistics.median(of) for layout, of in times.items()}}

        waiting = 0
        for op, dtype, n in self.rows():
            if all(f"{op} {dtype} {n} {layout}" in verified for layout in LAYOUTS):
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
        for symbol, op, dtype, contract in lines:
            name = symbol.replace("emulated", "strict")
            command = [program, "kernel", f"{library}:{name}", "--op", op, "--dtype", dtype, "--contract", contract, "--require",
                       "deterministic,batch-invariant", "--effort", "quick", *(["--cases", "20"] if self.dry else ["--device", "cuda"])]
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


# --- the session
def command_of(name, options, seconds):
    if "peers=hang" in options.fault and name == "peers":
        return ["sleep", "3600"]
    if name == "peers":  # -S: a dry run finds no package, and so no peer
        return [sys.executable, *(["-S"] if options.dry_run else []), HERE / "torch_peers.py",
                options.build / "kernels/libsoftcheck_cuda_kernels.so", "--lines", options.results / "session.jsonl"]
    return [sys.executable, __file__, "--stage", name, "--seconds", str(max(1, int(seconds) + 1)), "--build", options.build,
            "--results", options.results, "--fault", options.fault, *(["--dry-run"] if options.dry_run else [])]


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)
    except (ProcessLookupError, subprocess.TimeoutExpired):  # a driver may hold it: go on without
        pass


def run_stage(name, options, lines, seconds):
    """How the stage's process ended: done, hang, missing: ..., no time or crash ...."""
    path, said = lines.path, options.results / f"{name}.log"
    silence = options.silence or ITEM_SECONDS[name]
    with open(said, "wb") as log:
        process = subprocess.Popen(command_of(name, options, seconds), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   start_new_session=True)
    try:
        end, heard, size = time.monotonic() + seconds, time.monotonic(), path.stat().st_size
        while process.poll() is None:
            time.sleep(0.02)
            if path.stat().st_size != size:
                heard, size = time.monotonic(), path.stat().st_size
            if time.monotonic() > min(end, heard + silence):
                return "no time" if time.monotonic() > end else "hang"
    finally:
        kill(process)
    last = (said.read_text(errors="replace").strip().splitlines() or [""])[-1][:200]
    if process.returncode == 4:
        return f"missing: {last}"
    return "done" if process.returncode == 0 else f"crash {process.returncode}: {last}"


def winners(lines):
    """Lines of a table of tuned layouts: op, dtype, first, last, held or parts, warps."""
    right = {key for key, line in lines.results("verify").items() if line["ok"] is True}
    timed = [(*key.split(" "), line["seconds"]) for key, line in lines.results("tune").items() if line["ok"]]
    for op, dtype, n, seconds in timed:
        able = {layout: took for layout, took in seconds.items() if f"{op} {dtype} {n} {layout}" in right}
        best = min(able, key=able.get, default="default")
        if best != "default" and "default" in able and able["default"] >= GAIN * able[best]:
            # Shorter rows fit a layout that holds n items, and use the same kernel by default; longer ones do not.
            shorter = [int(other) for o, d, other, _ in timed if (o, d) == (op, dtype) and int(other) < int(n)]
            yield "\t".join((op, dtype, str(max(shorter, default=int(n) // 2) + 1), n, *best.split(":")))


def write_winners(lines, options):
    device = lines.results("probe").get("device")
    table = list(winners(lines))
    if not device or not table:
        return
    name = "".join(c if c.isalnum() else "_" for c in device["device"].lower())
    folder = options.results if options.dry_run else ROOT / "kernels/cuda/tuned"
    if (folder / f"{name}.tsv").exists() and not lines.ended("tune"):
        print(f"{folder / name}.tsv stays: not all layouts have been timed")
        return
    part = folder / f"{name}.part"
    part.write_text("\n".join([f"device\t{device['device']}\t{device['capability']}\t{device['multiprocessors']}", *table]) + "\n")
    os.replace(part, folder / f"{name}.tsv")
    print(f"{folder / name}.tsv: {len(table)} layouts faster than the default")


def commit():
    """Of the checkout; tables that a session writes are no change."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)

    if not shutil.which("git") or not (described := git("describe", "--always").stdout.strip()):
        return "unknown"
    return described + ("-dirty" if git("diff", "--quiet", "HEAD", "--", ".", ":!kernels/cuda/tuned").returncode else "")


def session(options):
    what = {**(Emulator() if options.dry_run else Driver()).facts(), "commit": commit()}
    options.results.mkdir(parents=True, exist_ok=True)
    lines = Lines(options.results / "session.jsonl")
    if not lines.all:
        lines.add(session=what)
    elif lines.all[0].get("session") != what:
        had, now = (", ".join(map(str, (of or {}).values())) for of in (lines.all[0].get("session"), what))
        fail("--results needs a folder without results of another device or commit, "
             f"got {options.results} of {had or 'none'}; this is {now}")
    end = time.monotonic() + options.seconds
    # What is done leaves its share to the others; time_all has what is left over.
    left = sum(share for name, share in STAGES.items() if name != "time_all" and not lines.ended(name)) or 1
    try:
        for name, share in STAGES.items():
            stage_end, failures = min(end, time.monotonic() + max(share / left * options.seconds, 2)), 0
            while not lines.ended(name):
                seconds = stage_end - time.monotonic()
                how = run_stage(name, options, lines, seconds) if seconds > 0.5 else "no time"
                lines = Lines(lines.path)
                lines.add(stage=name, end=how)
                print(f"{name}: {how}", flush=True)
                item = lines.begun(name) if how.startswith(("hang", "crash")) else None
                if item is None:  # nothing that another try could leave out
                    break
                lines.add(stage=name, key=item, ok=False, why=how)
                failures += 1
                if failures == MOST_FAILURES:
                    break
            if name == "tune":
                try:
                    write_winners(lines, options)
                except OSError as error:  # the times are in session.jsonl
                    print(f"gpu: no table of layouts: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        lines = Lines(lines.path)
        lines.add(stopped="by a signal")
        print("stopped; the same command goes on")
        return 130
    every = [line for name in STAGES for line in lines.results(name).values()]
    wrong = [f"{line['stage']} {line['key']}" for line in every if line["ok"] is False]
    open_stages = [name for name in STAGES if not lines.ended(name, "done", "missing")]
    print(f"{len(every)} results, {len(wrong)} wrong or failed{': ' + ', '.join(wrong[:5]) if wrong else ''}; "
          f"{'not done: ' + ', '.join(open_stages) + '; ' if open_stages else ''}{lines.path}")
    return 1 if wrong or open_stages else 0


def positive(text):
    if not text.isdecimal() or not 0 < int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"need a number of seconds above 0 and below 2^31, got '{text}'")
    return int(text)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"gpu: {message}\n")


def main():
    parser = Parser(prog="gpu", allow_abbrev=False)
    parser.add_argument("--seconds", type=positive, default=530)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build/gpu")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--silence", type=float, default=0)
    parser.add_argument("--stage", choices=STAGES, default="")
    parser.add_argument("--fault", default="", help="of a dry run: STAGE=hang, crash or wrong, @KEY of one item; by commas")
    options = parser.parse_args()
    if not options.stage:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
                signal.signal(number, signal.default_int_handler)
        try:
            return session(options)
        except KeyboardInterrupt:  # before the first stage
            return 130
        except OSError as error:
            fail(f"--results needs a folder that can be written to, got {options.results}: {error}")
    signal.alarm(options.seconds)  # if the session itself is killed
    getattr(Stage(options), options.stage)()
    return 0


if __name__ == "__main__":
    sys.exit(main())

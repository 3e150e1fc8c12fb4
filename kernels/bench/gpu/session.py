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
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from device import Driver  # noqa: E402 (the line above comes first: the sources' folder stays as it is)
from stages import Emulator, Lines, Stage, fail  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# Stage and its share of the seconds, in the order of their value.
STAGES = {"probe": 0.03, "verify": 0.23, "tune": 0.26, "peers": 0.2, "judge": 0.11, "compare": 0.07, "count": 0.1, "time_all": 1}
ITEM_SECONDS = {"probe": 20, "verify": 30, "tune": 30, "peers": 90, "judge": 90, "compare": 90, "count": 90, "time_all": 300}
MOST_FAILURES = 3  # of a stage: then it is left
GAIN = 1.02  # a winner is faster than the default by this factor


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
    facts = (device[word] for word in ("device", "capability", "multiprocessors", "memory_clock"))
    part = folder / f"{name}.part"
    part.write_text("\n".join(["\t".join(map(str, ("device", *facts))), *table]) + "\n")
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
    lock = os.open(options.results, os.O_RDONLY)  # until this process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fail(f"--results needs a folder that no other session writes to, got {options.results}")
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

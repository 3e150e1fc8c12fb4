"""python -m softcheck.campaign plan.toml --out DIR --scheduler ADDRESS: a campaign on a cluster of Dask.

Dask schedules the shards, gives those of dead workers to others and retries; judging, training, the files and the report
are the softcheck command's. Each worker needs this package and the plan's libraries and models, but shares no folder with
this process, which writes the results. Without --scheduler this is `softcheck campaign`: docs/campaigns.md.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any, Iterator, NamedTuple

from .__main__ import _command

HOLDS, USAGE, UNSUPPORTED, UNDECIDED, CRASHED = 0, 2, 4, 5, 6
# Seconds to wait for a scheduler's answer.
LONGEST_SILENCE = 30.0


class CampaignError(Exception):
    """An error: its message, one line, and the exit code of the command."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Shard(NamedTuple):
    key: str
    state: str  # finished, missing, damaged or other
    questions: int


def _run(*words: Any) -> subprocess.CompletedProcess[str]:
    command = [str(_command()), *map(str, words)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def judge(plan: str, key: str, kernels: str, kept: str = "") -> tuple[int, str, str]:
    """Judges one shard of the plan's text on a worker. Returns the exit code, the shard's file, and the command's
    other output.

    The command's process ends with the thread that waits for it, so that a killed worker leaves no process.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan.toml"
        file.write_text(plan)
        if kept:
            pathlib.Path(kept).mkdir(parents=True, exist_ok=True)
        done = _run("campaign", file, "--print", key, "--kernels", kernels, *(["--kept", kept] if kept else []))
    if done.returncode < 0:  # killed: another try may succeed, as after a worker's death
        raise RuntimeError(f"softcheck was ended by signal {-done.returncode}")
    return done.returncode, done.stdout, done.stderr


def shards_of(plan: pathlib.Path, out: pathlib.Path, kernels: str) -> list[Shard]:
    """All shards of the plan and their states in out."""
    done = _run("campaign", plan, "--list", "--out", out, "--kernels", kernels)
    if done.returncode != HOLDS:
        raise CampaignError(done.returncode, done.stderr.strip().removeprefix("softcheck: "))
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return [Shard(key, state, int(count)) for key, state, count, _ in lines]


def write_shard(out: pathlib.Path, key: str, text: str) -> None:
    """Writes a file next to it and renames that, so that a reader never sees a part of it."""
    folder = out / "shards"
    beside = folder / f".{key}.jsonl.{socket.gethostname()}.{os.getpid()}"
    try:
        with open(beside, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, folder / f"{key}.jsonl")
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise CampaignError(USAGE, f"cannot write {folder / key}.jsonl: {error.strerror}") from error


class Progress:
    """A line on a terminal; nothing if standard error is piped."""

    def __init__(self, todo: int) -> None:
        self.todo, self.done, self.start = todo, 0, time.monotonic()
        self.terminal = sys.stderr.isatty()

    def step(self) -> None:
        self.done += 1
        rate = self.done / max(time.monotonic() - self.start, 1e-9)
        left = (self.todo - self.done) / rate
        self._show(f"{self.done} of {self.todo} shards, {rate:.2g} a second, about {left:.0f} s left")

    def end(self) -> None:
        self._show("")

    def _show(self, text: str) -> None:
        if self.terminal:
            print(f"\r{text[:100]}\033[K", end="", file=sys.stderr, flush=True)


def _client(address: str) -> Any:
    try:
        from distributed import Client
        from distributed.comm.registry import get_backend
    except ImportError:
        raise CampaignError(UNSUPPORTED, "--scheduler needs Dask: pip install distributed") from None
    try:
        get_backend(address.split("://")[0] if "://" in address else "tcp")  # a Client that fails at this hangs later
        return Client(address, timeout=LONGEST_SILENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CampaignError(USAGE, f"--scheduler: no scheduler answers at '{address}': {error}") from None


def _ended(client: Any, futures: list[Any]) -> Iterator[Any]:
    """Futures as they end; CampaignError if the scheduler is gone."""
    from distributed import as_completed

    waiting = as_completed(futures, loop=client.loop)
    last_heard = time.monotonic()
    count = 0
    while count < len(futures):
        if waiting.has_ready():
            future = next(waiting)
            if future.status in ("lost", "pending"):  # its worker died with its results: compute them again
                waiting.add(future)
                continue
            yield future
            count += 1
            last_heard = time.monotonic()
            continue
        if client.status == "running":
            last_heard = time.monotonic()
        elif client.status == "closed" or time.monotonic() - last_heard > LONGEST_SILENCE:
            raise CampaignError(UNDECIDED, "the scheduler is gone")
        time.sleep(0.05)


def _take(future: Any, key: str, out: pathlib.Path, commit: str) -> str:
    """Writes a worker's result. Returns the error, "" for none."""
    if future.status == "cancelled":
        raise CampaignError(UNDECIDED, "the scheduler is gone")
    if future.status != "finished":
        return f"{key}: {type(future.exception()).__name__}: {future.exception()}"
    code, text, said = future.result()
    if code != HOLDS:
        return f"{key}: {said.strip().removeprefix('softcheck: ')}"
    theirs = json.loads(text.split("\n", 1)[0])["commit"]
    if commit and theirs != commit:
        raise CampaignError(UNSUPPORTED, f"a worker has softcheck of commit {theirs}, this is of commit {commit}")
    write_shard(out, key, text)
    return ""


def run(plan: pathlib.Path, out: pathlib.Path, client: Any, kernels: str | None = None, kept: str = "") -> int:
    """Runs the plan's missing shards on the client's cluster, and writes results and the report to out. Returns its
    exit code.

    plan      the file; workers get its text
    kernels   the folder, on workers, to which the plan's paths of libraries and models are relative (default: the
              plan's, made absolute)
    kept      the folder, on workers, where trainings save their state. If workers share it, another worker continues
              the training of a worker that died. Without it such a training starts again.

    Raises CampaignError. Finished shards stay, and the same call continues from there.
    """
    kernels = kernels or str(plan.resolve().parent)
    (out / "shards").mkdir(parents=True, exist_ok=True)
    text = plan.read_text()
    missing = [shard.key for shard in shards_of(plan, out, kernels) if shard.state != "finished"]
    progress = Progress(len(missing))
    count = len(missing)
    futures = client.map(judge, [text] * count, missing, [kernels] * count, [kept] * count, pure=False, retries=2)
    keys = dict(zip((future.key for future in futures), missing))
    commit = _commit()
    troubles = []
    try:
        for future in _ended(client, futures):
            trouble = _take(future, keys[future.key], out, commit)
            if trouble:
                troubles.append(trouble)
            else:
                progress.step()
            future.release()
    except (CampaignError, KeyboardInterrupt) as error:
        told = error if isinstance(error, CampaignError) else CampaignError(UNDECIDED, "ended by the user")
        raise CampaignError(told.code, f"{told}; {_so_far(progress)}") from None
    finally:
        progress.end()
        if client.status == "running":
            client.cancel(futures)
    if troubles:
        raise CampaignError(CRASHED, f"{len(troubles)} shards could not be judged, the first is {troubles[0]}; {_so_far(progress)}")
    merge = [str(_command()), "campaign", "merge", str(plan), str(out)]
    return subprocess.run(merge, stdin=subprocess.DEVNULL, check=False).returncode


def _so_far(progress: Progress) -> str:
    return f"{progress.done} of {progress.todo} shards were finished; the same command goes on from there"


def _commit() -> str:
    """The commit of the command here, in the form of a shard's file."""
    done = _run("version")
    words = done.stdout.replace(",", " ").replace(")", " ").split()
    return words[words.index("(commit") + 1] if "(commit" in words else ""


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not any(word.split("=")[0] == "--scheduler" for word in arguments):
        os.execv(_command(), ["softcheck", "campaign", *arguments])
    parser = argparse.ArgumentParser(prog="python -m softcheck.campaign", description=__doc__.split("\n\n")[0])
    parser.add_argument("plan", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of the results; what is finished there stays")
    parser.add_argument("--scheduler", required=True, help="of Dask, as tcp://host:8786")
    parser.add_argument("--kernels", help="folder, on workers, that libraries and models are named from (default: the plan's)")
    parser.add_argument("--kept", default="", help="folder, on workers, where trainings keep what they have (default: they keep nothing)")
    asked = parser.parse_args(arguments)
    try:
        if not asked.plan.is_file():
            raise CampaignError(USAGE, f"need a plan that can be read, got '{asked.plan}'")
        client = _client(asked.scheduler)
        try:
            return run(asked.plan, asked.out, client, asked.kernels, asked.kept)
        finally:
            client.close(timeout=2)
    except CampaignError as error:
        print(f"softcheck: campaign: {error}", file=sys.stderr)
        return error.code
    except OSError as error:
        print(f"softcheck: campaign: --out: {error}", file=sys.stderr)
        return USAGE


if __name__ == "__main__":
    # Workers find `judge` by the module's own name, which is not that of a program.
    from softcheck import campaign

    sys.exit(campaign.main())

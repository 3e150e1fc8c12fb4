"""gpu_session.py BUILD: dry runs of kernels/bench/gpu/session.py, with every failure of a stage."""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SESSION = "kernels/bench/gpu/session.py"
BUILD, FOLDER = sys.argv[1], pathlib.Path(tempfile.mkdtemp())
STAGES = ("probe", "verify", "tune", "peers", "judge", "compare", "count", "time_all")


def start(name, *more, seconds=600):
    command = [sys.executable, SESSION, "--dry-run", "--seconds", str(seconds), "--build", BUILD, "--results", FOLDER / name, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process, code):
    said = process.communicate(timeout=120)[0]
    assert process.returncode == code, (process.returncode, said)
    return said


def lines(name):
    return [json.loads(line) for line in (FOLDER / name / "session.jsonl").read_text().splitlines()]


def results(name):
    keys = [(line["stage"], line["key"]) for line in lines(name) if "key" in line]
    assert len(keys) == len(set(keys)), "an item ran twice"
    return {(line["stage"], line["key"]): line for line in lines(name) if "key" in line}


def ends(name):
    return {line["stage"]: line["end"] for line in lines(name) if "end" in line}


def table(name):
    rows = (FOLDER / name / "emulator.tsv").read_text().splitlines()
    return {tuple(row.split("\t")[index] for index in (0, 1, 3)): ":".join(row.split("\t")[4:]) for row in rows[1:]}


def check():
    # A hang, a crash and a wrong result cost their item alone, and what is wrong wins nothing.
    bad = ("softmax f32 2500 held:16", "softmax f32 2500 held:8", "softmax f32 96 held:4")
    faulty = start("faulty", "--silence", "10", "--fault", ",".join(
        f"verify={kind}@{key}" for kind, key in zip(("hang", "crash", "wrong"), bad)) + ",verify=wrong@cross_entropy_backward f32 17000 grid:8,tune=crash@entropy bf16 96")
    stopped = start("stopped", "--fault", "tune=hang@softmax f32 2500")
    broken = start("broken", "--silence", "5", "--fault", "probe=hang,verify=crash,peers=hang,judge=crash,compare=hang,count=crash,time_all=hang")

    # Ctrl-C ends the stage's process and loses no line; the next call goes on.
    deadline = time.monotonic() + 60
    begun = '{"stage": "tune", "begin": "softmax f32 2500"}'
    while begun not in (path.read_text() if (path := FOLDER / "stopped/session.jsonl").exists() else ""):
        assert time.monotonic() < deadline and stopped.poll() is None, finish(stopped, 130)
        time.sleep(0.05)
    said = finish(start("stopped"), 2)  # one session a folder
    assert said.count("\n") == 1 and "needs a folder that no other session writes to" in said, said
    stopped.send_signal(signal.SIGINT)
    finish(stopped, 130)
    running = subprocess.run(["pgrep", "-f", f"{SESSION} --stage .*{FOLDER}/stopped"], capture_output=True, check=False)
    assert running.returncode == 1, running.stdout
    before = results("stopped")
    with open(FOLDER / "stopped/session.jsonl", "a", encoding="utf-8") as file:
        file.write('{"stage": "tune", "key": "softmax f3')  # a torn line
    finish(start("stopped"), 0)
    after = results("stopped")
    assert set(before) < set(after) and all(after[key] == line for key, line in before.items())
    assert all(line["ok"] is not False for line in after.values())
    assert {stage: end for stage, end in ends("stopped").items() if stage != "peers"} == {s: "done" for s in STAGES if s != "peers"}
    assert ends("stopped")["peers"].startswith("missing: torch_peers.py: needs Python's torch"), ends("stopped")
    assert after["compare", "all kernels"] == {"stage": "compare", "key": "all kernels", "ok": None, "why": "missing: absent"}
    assert after["judge", "logsumexp f32"]["ok"] is True, after["judge", "logsumexp f32"]
    assert table("stopped")["softmax", "f32", "2500"] == "held:16"
    # Nothing is left to do.
    count = len(lines("stopped"))
    finish(start("stopped"), 0)
    assert [line for line in lines("stopped")[count:] if line["stage"] != "peers"] == []

    said = finish(faulty, 1)
    found = results("faulty")
    assert [found["verify", key]["ok"] for key in bad] == [False] * 3, found
    assert [found["verify", key].get("why", "")[:5] for key in bad] == ["hang", "crash", ""]
    assert "5 wrong or failed" in said, said
    loss, gradient = "cross_entropy f16 2500 ", "cross_entropy_backward f32 17000 "
    assert all(found["verify", loss + of]["ok"] is True for of in ("default", "held:4", "parts:16", "cluster:4")), found
    assert all(found["verify", gradient + of]["ok"] is True for of in ("default", "cluster:2", "cluster:8", "grid:2", "grid:4")), found
    assert found["verify", gradient + "grid:8"]["ok"] is False and found["verify", gradient + "grid:128"]["ok"] is None, found
    assert table("faulty")["cross_entropy_backward", "f32", "17000"] == "grid:4", table("faulty")
    assert table("faulty")["softmax", "f32", "2500"] == "parts:16" and ("softmax", "f32", "96") not in table("faulty"), table("faulty")
    assert ends("faulty")["time_all"] == "done"

    # The stages after one that always fails have their turn.
    finish(broken, 1)
    assert set(ends("broken")) == set(STAGES)
    assert ends("broken").pop("tune") == "missing: gpu: 9 kinds of rows wait for verify", ends("broken")
    assert all(end.startswith(("done", "hang", "crash", "missing")) for end in ends("broken").values()), ends("broken")
    failed = {stage for (stage, _), line in results("broken").items() if line["ok"] is False}
    assert failed == set(STAGES) - {"peers", "tune"} and ends("broken")["peers"] == "hang", (failed, ends("broken"))
    assert not (FOLDER / "broken/emulator.tsv").exists()

    # Results of two devices are not mixed; wrong arguments are one line.
    (FOLDER / "other").mkdir()
    (FOLDER / "other/session.jsonl").write_text('{"session": {"device": "another"}}\n')
    assert finish(start("other"), 2).count("\n") == 1
    (FOLDER / "other/session.jsonl").write_text('{"session": {}}\n\0\n')
    assert ":2" in finish(start("other"), 3)
    assert finish(start("other/session.jsonl/below"), 2).count("\n") == 1
    for wrong in (["--seconds", "0"], ["--seconds", "x"], ["--seconds"], ["--no-such"]):
        assert finish(start("none", *wrong), 2).count("\n") == 1

    # 2 % decide, and what is not right wins nothing.
    sys.path.insert(0, "kernels/bench/gpu")
    sys.dont_write_bytecode = True
    import session
    import stages
    for took, wins in ((0.981, []), (0.98, ["softmax\tf32\t513\t1024\theld\t8"])):
        log = stages.Lines(FOLDER / f"{took}.jsonl")
        for layout in ("default", "held:8"):
            log.add(stage="verify", key=f"softmax f32 1024 {layout}", ok=True)
        log.add(stage="verify", key="softmax f32 1024 parts:4", ok=False)
        log.add(stage="tune", key="softmax f32 1024", ok=True, seconds={"default": 1.0, "held:8": took, "parts:4": 0.1})
        assert list(session.winners(log)) == wins, (took, list(session.winners(log)))
    # The build reads what a session writes, and refuses what it does not.
    awk = ["awk", "-f", "kernels/cuda/tuned/table.awk", "/dev/null"]
    tables = [str(path) for path in sorted(pathlib.Path("kernels/cuda/tuned").glob("*.tsv"))]
    read = subprocess.run([*awk, *tables, FOLDER / "stopped/emulator.tsv"], capture_output=True, text=True, check=True).stdout
    assert '{{90, 1, 1000}, "softmax", "f32", 97, 2500, {true, 16}},' in read, read
    assert '{{90, 1, 1000}, "cross_entropy_backward", "f32", 8501, 17000, {false, 16, 8}},' in read, read
    assert len(stages.logits_of("bf16", 1 << 27)) == 1 << 28  # in seconds: what tune takes for a row
    for device, line in (("90", "softmax\tf32\t1\t2\theld\t3"), ("", "softmax\tf32\t1\t2\theld\t4"), ("90", "softmix\tf32\t1\t2\theld\t4"),
                         ("90", "softmax\tf32\t3\t2\theld\t4"), ("90", "softmax\tf32\t1\t2\tgrid\t1")):
        (FOLDER / "wrong.tsv").write_text(f"device\tX\t{device}\t1\t1\n{line}\n")
        assert subprocess.run([*awk, FOLDER / "wrong.tsv"], capture_output=True, check=False).returncode == 1, line


try:
    check()
finally:
    subprocess.run(["rm", "-rf", FOLDER], check=False)

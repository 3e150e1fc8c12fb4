"""What is left to a deep run, and what may be skipped where every library is installed; and campaigns that nothing disturbs, each
run once for all tests that compare with it."""

import os
import pathlib
import subprocess
import sys

import pytest
from campaigns import KERNELS, MIXED, PLAN, REPORTS, TINY, all_files, reports, softcheck

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE / "packages"))  # that of a library that is not one

# Skips for these are the machine's, whatever is installed.
MACHINES = ("needs a GPU", "no right to mount", "needs the right to mount")


def pytest_addoption(parser):
    parser.addoption(
        "--every-library", action="store_true", help="fail if a test is skipped, but for a GPU or the right to mount a disk"
    )


def skipped_for_a_library(config):
    """The reasons of skips that --every-library does not allow."""
    if not config.getoption("--every-library"):
        return []
    skipped = config.pluginmanager.get_plugin("terminalreporter").stats.get("skipped", [])
    return [text for report in skipped for text in [str(report.longrepr)] if not any(words in text for words in MACHINES)]


def pytest_terminal_summary(terminalreporter, config):
    for reason in skipped_for_a_library(config):
        terminalreporter.write_line(f"--every-library: skipped all the same: {reason}", red=True)


def pytest_sessionfinish(session):
    if skipped_for_a_library(session.config) and session.exitstatus == 0:
        session.exitstatus = 1


def pytest_configure(config):
    config.addinivalue_line("markers", "deep: left to SOFTCHECK_EFFORT=deep; another test shows most of it in every run")


def pytest_collection_modifyitems(config, items):
    if os.environ.get("SOFTCHECK_EFFORT") == "deep":
        return
    left = [item for item in items if item.get_closest_marker("deep")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("deep")]


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of a size, such as "24k", and a function that gives the disk another size."""
    small = tmp_path / "small"
    small.mkdir()

    def mount(size, *words):
        return subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join([*words, f"size={size}"]), "tmpfs", small], capture_output=True)

    def mounted(size):
        if os.geteuid() != 0:
            pytest.skip("needs the right to mount a small disk")
        if mount(size).returncode != 0:
            pytest.skip("no right to mount a small disk")
        return small, lambda larger: mount(larger, "remount").check_returncode()

    yield mounted
    subprocess.run(["umount", small], check=False, capture_output=True)


@pytest.fixture(scope="session")
def plan(tmp_path_factory):
    file = tmp_path_factory.mktemp("plan") / "plan.toml"
    file.write_text(PLAN)
    return file


@pytest.fixture(scope="session")
def expected(plan, tmp_path_factory):
    """The report of a campaign that nothing disturbed, on one process."""
    out = tmp_path_factory.mktemp("expected")
    done = softcheck(plan, "--out", out, "--kernels", KERNELS, "--processes", 1)
    assert done.returncode == 1 and done.stderr == "", done.stderr  # a bug is planted in one kernel
    assert "campaign small: 20 judgements: 10 fail, 10 pass" in done.stdout
    return reports(out)


@pytest.fixture(scope="session")
def mixed(tmp_path_factory):
    file = tmp_path_factory.mktemp("mixed") / "mixed.toml"
    file.write_text(MIXED.format(tiny=TINY, steps=300))
    return file


@pytest.fixture(scope="session")
def expected_mixed(mixed, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected_mixed")
    done = softcheck(mixed, "--out", out, "--processes", 1)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.startswith("campaign mixed: 2 models: 2 pass; 2 trainings: 2 pass\n")
    files = all_files(out)
    assert set(files) == {*REPORTS, "model-1.html", "model-2.html", "trained/1/seed-01.safetensors", "trained/1/seed-02.safetensors"}
    assert not (out / "kept").exists()
    return files


@pytest.fixture(scope="session")
def swept(tmp_path_factory):
    """The field's results of a library that is not one, and their folder."""
    from softcheck.field import sweep

    folder = tmp_path_factory.mktemp("field")
    old = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE / "packages"), str(HERE.parent), old])
    try:
        return sweep.sweep("fake.library", folder, 600, "quick", domain="n<=33 rows<=3"), folder
    finally:
        os.environ["PYTHONPATH"] = old

import importlib.metadata
import pathlib

import pytest

pytest_plugins = ["pytester"]

FOLDER = pathlib.Path(__file__).parent
# Installed, the package names its plugin to pytest; run from a checkout, the command line does.
NAMED = any(d.metadata["Name"] == "softcheck" for d in importlib.metadata.distributions())
PLUGIN = [] if NAMED else ["-p", "softcheck.pytest_plugin"]
TESTS = """
import softcheck, kernels

softmax = softcheck.kernel(op="softmax", dtypes=["float32", "float64"])(kernels.softmax)

@softcheck.kernel(op="softmax")
def broken(x):
    return kernels.one_item_off(x)
"""


@pytest.mark.parametrize("extra", [[], ["-n2"]])
def test_functions_become_tests(pytester, monkeypatch, extra):
    if extra:
        pytest.importorskip("xdist")
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setenv("PYTHONPATH", str(FOLDER), prepend=":")
    pytester.makepyfile(test_kernels=TESTS)
    result = pytester.runpytest_subprocess(*PLUGIN, *extra)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*kernel.softmax.element does not hold*"])
    result.stdout.fnmatch_lines(["*replay: softcheck.check(broken, op='softmax', dtype='f32', domain='*', replay=*"])


def test_one_dtype_can_be_chosen(pytester, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setenv("PYTHONPATH", str(FOLDER), prepend=":")
    pytester.makepyfile(test_kernels=TESTS)
    result = pytester.runpytest_subprocess(*PLUGIN, "-v", "--softcheck-seed=7", "--softcheck-budget=60", "-k", "softmax-f64")
    result.assert_outcomes(passed=1, deselected=2)

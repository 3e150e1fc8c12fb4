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

softmax = softcheck.kernel(op="softmax", dtypes=["float32", "float64"], domain="n<=129 rows<=9")(kernels.softmax)

@softcheck.kernel(op="softmax", domain="n<=129 rows<=9")
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


ASSERTIONS = """
import numpy as np, softcheck

def test_of_a_result():
    softcheck.assert_output("softmax", np.zeros((1, 2), np.float32), np.ones((1, 2), np.float32))

def test_of_a_function():
    softcheck.check(lambda x: x, domain="n<=4", cases=1).raise_for_verdict()
"""


def test_a_failed_assertion_shows_the_report_and_none_of_softcheck_s_lines(pytester):
    pytester.makepyfile(test_assertions=ASSERTIONS)
    result = pytester.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E*Violation: fail: 1 of 1 rows fail*"])
    for line in ("*def assert_output(*", "*def raise_for_verdict(*"):
        result.stdout.no_fnmatch_line(line)


OTHERS = """
import softcheck, kernels

@softcheck.kernel(op="softmax", dtype="float32", domain="n<=256 rows<=4")
def alone(x):
    return kernels.one_item_off(x)

@softcheck.kernel(op="softmx")
def misnamed(x):
    return kernels.softmax(x)

class TestInAClass:
    @softcheck.kernel(op="softmax", dtypes="float64", domain="n<=8 rows<=2", cases=2)
    def plain(x):
        return kernels.softmax(x)

    @staticmethod
    @softcheck.kernel(op="softmax", domain="n<=8 rows<=2", cases=2)
    def static(x):
        return kernels.softmax(x)
"""
METHOD = """
import softcheck, kernels

class TestInAClass:
    @softcheck.kernel(op="softmax")
    def method(self, x):
        return kernels.softmax(x)
"""


def test_kernels_in_classes_become_tests_and_a_failure_says_why_in_its_line(pytester, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setenv("PYTHONPATH", str(FOLDER), prepend=":")
    pytester.makepyfile(test_kernels=OTHERS)
    result = pytester.runpytest_subprocess(*PLUGIN, "-v")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*TestInAClass::plain?softmax-f64? PASSED*", "*TestInAClass::static?softmax-f32? PASSED*"])
    result.stdout.fnmatch_lines(["@softcheck.kernel of misnamed?softmx-f32?: op: need one of softmax, *"])
    result.stdout.fnmatch_lines(["FAILED test_kernels.py::alone?softmax-f32? - fail: kernel.softmax*"])
    pytester.makepyfile(test_kernels=METHOD)
    result = pytester.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*@softcheck.kernel of method: need a function without self, a staticmethod in a class"])


def test_one_dtype_can_be_chosen(pytester, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setenv("PYTHONPATH", str(FOLDER), prepend=":")
    pytester.makepyfile(test_kernels=TESTS)
    result = pytester.runpytest_subprocess(*PLUGIN, "-v", "--softcheck-seed=7", "--softcheck-budget=600", "-k", "softmax-f64")
    result.assert_outcomes(passed=1, deselected=2)

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


MARKS = """
import functools, pytest, softcheck, kernels

softmax = softcheck.kernel(op="softmax", domain="n<=9 rows<=3", cases=2)
NEVER = True

@pytest.mark.xfail(raises=softcheck.Violation, strict=True)
@softmax
def expected_above(x):
    return kernels.softmax(x) ** 2

@softmax
@pytest.mark.xfail
def expected_below(x):
    return kernels.softmax(x) ** 2

@softmax
@pytest.mark.xfail(strict=True)
def unexpected(x):
    return kernels.softmax(x)

@pytest.mark.skip(reason="not today")
@softmax
def skipped_above(x):
    raise AssertionError

@softmax
@pytest.mark.skipif("NEVER", reason="never")
def skipped_below(x):
    raise AssertionError

@softmax
@pytest.mark.slow
def marked(x):
    return kernels.softmax(x)

@pytest.mark.parametrize("power", [1, pytest.param(2, marks=pytest.mark.xfail(strict=True)), pytest.param(1, id="again")])
@softmax
@pytest.mark.parametrize(("shift", "more"), [(0, None), (3, None)])
def many(x, shift, power, more):
    return kernels.softmax(x) ** power

class TestInAClass:
    @softmax
    @pytest.mark.skip
    @staticmethod
    def below(x):
        raise AssertionError

    @pytest.mark.skip
    @staticmethod
    @softmax
    def above(x):
        raise AssertionError
"""
WRONG_PARAMETERS = """
import pytest, softcheck

@pytest.mark.parametrize("{}", [1, 2])
@softcheck.kernel(op="softmax")
def wrong(x, theta):
    return x
"""
INI = "[pytest]\nmarkers = slow: takes long\n"


@pytest.fixture
def pages(pytester, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setenv("PYTHONPATH", str(FOLDER), prepend=":")
    pytester.makeini(INI)
    return pytester


def test_marks_hold_in_either_order(pages):
    pages.makepyfile(test_kernels=MARKS)
    result = pages.runpytest_subprocess(*PLUGIN, "-v", "--strict-markers", "-rsxXf")
    result.assert_outcomes(passed=5, skipped=4, xfailed=4, failed=1)
    result.stdout.fnmatch_lines(["SKIPPED*not today", "FAILED*unexpected*XPASS(strict)*"])
    names = ["0-None-1", "0-None-2", "0-None-again", "3-None-1", "3-None-2", "3-None-again"]
    result.stdout.fnmatch_lines([f"*::many?softmax-f32-{name}? {'XFAIL' if name.endswith('2') else 'PASSED'}*" for name in names])
    pages.runpytest_subprocess(*PLUGIN, "-m", "slow").assert_outcomes(passed=1, deselected=13)


def test_a_parameter_is_in_the_replay_line(pages):
    pages.makepyfile(test_kernels=MARKS)
    result = pages.runpytest_subprocess(*PLUGIN, "-k", "many and 0-None-2", "--runxfail")
    result.assert_outcomes(failed=1, deselected=13)
    result.stdout.fnmatch_lines(["*replay: softcheck.check(functools.partial(many, shift=0, more=None, power=2), op='softmax'*"])
    result.stdout.no_fnmatch_line("*left at their defaults*")


@pytest.mark.parametrize("name", ["theta", "other"])
def test_parametrize_of_what_the_judge_gives_or_nothing_has_is_an_error(pages, name):
    pages.makepyfile(test_kernels=WRONG_PARAMETERS.format(name))
    result = pages.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*parametrize of wrong: need parameters of the function that softcheck does not give*got '{name}'"])

"""python -m softcheck.grade: a table of a folder's modules, whatever they do."""

import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from softcheck import grade
from softcheck._modules import in_folder, load, modules_of, op_of
from softcheck._ops import OPS

SOFTMAX = """
import numpy as np

# op: softmax
# domain: n<=9 rows<=2
def {name}(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True){wrong}
"""
HANGS = "import time\ndef softmax(x): return x\ntime.sleep(1000)\n"
FILES = {
    "right.py": SOFTMAX.format(name="rows", wrong=""),
    "sub/wrong.py": SOFTMAX.format(name="rows", wrong=" * np.float32(1.01)"),
    "dies.py": "import os\ndef softmax(x): return x\nprint('gone'), os._exit(3)\n",
    "raises.py": "import no_such_module\ndef softmax(x): return x\n",
    "needs_more.py": "def softmax(x, blocks): return x\n",
    "misspelt.py": "# op: sofmax\ndef f(x): return x\n",
    "other.py": "def dropout(x): return x\n",
    "broken.py": "def softmax(x:\n",
}


def folder_of(path, files):
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def run(folder, out, *words, **more):
    command = [sys.executable, "-m", "softcheck.grade", folder, "--out", out, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, **more)


def rows_of(out):
    head, *rows = [line.split("\t") for line in out.read_text().splitlines()]
    assert head == ["name", "verdict", "seconds", "cause"]
    return {name: (verdict, cause) for name, verdict, _, cause in rows}


def test_a_folder_is_judged_to_its_end(tmp_path):
    out = tmp_path / "grade.tsv"
    done = run(folder_of(tmp_path / "kernels", FILES), out)
    rows = rows_of(out)
    assert {name: verdict for name, (verdict, _) in rows.items()} == {
        "broken.py": "op not known",
        "dies.py:softmax": "crash",
        "misspelt.py:f": "error",
        "needs_more.py:softmax": "error",
        "other.py": "op not known",
        "raises.py:softmax": "not judged",
        "right.py:rows": "pass",
        "sub/wrong.py:rows": "fail",
    }
    causes = {name.partition(":")[0]: cause for name, (_, cause) in rows.items()}
    assert re.search(r"^SyntaxError: .*\(broken.py, line \d+\)$", causes["broken.py"]) and "# op: softmax" in causes["other.py"]
    assert causes["dies.py"] == "its process ended: exit(3); gone"
    assert "missing a required argument: 'blocks'" in causes["needs_more.py"]
    assert causes["misspelt.py"].startswith("op: need one of softmax, ") and causes["misspelt.py"].endswith(", got 'sofmax'")
    assert causes["other.py"].endswith("got dropout") and causes["raises.py"] == "needs no_such_module, which is not installed"
    assert causes["right.py"] == "" and re.match(r"kernel\.softmax\.element: expected 0x1p\+0 \(1\), got .*, error ", causes["sub/wrong.py"])
    assert done.returncode == 1 and done.stderr == ""
    assert f"6 modules: 1 pass, 1 fail, 1 crash, 2 error, 1 not judged; 2 files whose op is not known. Written to {out}\n" in done.stdout
    for line, (name, (verdict, cause)) in zip(done.stdout.splitlines(), rows.items()):
        assert line.startswith(name) and f"  {verdict}  " in line and line.endswith(cause)


WORDS = {"time_limit": 100.0, "dtype": None, "domain": None, "device": None, "effort": "quick"}


def test_functions_beside_a_known_op_are_listed(tmp_path):
    text = SOFTMAX.format(name="rows", wrong="") + "\n\ndef gelu(x): return x\ndef _own(x): return x\ndef test_rows(): pass\nclass Norm: pass\n"
    out = tmp_path / "grade.tsv"
    done = run(folder_of(tmp_path / "kernels", {"two.py": text}), out)
    assert rows_of(out) == {"two.py:rows": ("pass", ""), "two.py": ("op not known", "also in this file, no op known: gelu, Norm")}
    assert done.returncode == 0 and f"1 module: 1 pass. Written to {out}\n" in done.stdout


def test_options_are_of_what_does_not_say_its_own(tmp_path):
    body = "    assert x.shape == (1, 1) and x.dtype == np.float64, x.shape\n    return np.where(x < np.inf, x * 0 + 1, np.nan)\n"
    text = f"import numpy as np\ndef softmax(x):\n{body}"
    files = {"a.py": text, "b.py": text.replace("def softmax", "# domain: n=2 rows=1\ndef softmax")}
    rows = []
    for module in in_folder(folder_of(tmp_path, files)):
        rows.append(grade.judge(module, module.file.name, {**WORDS, "dtype": "float64", "domain": "n=1 rows=1"}, lambda: False))
    assert [row.verdict for row in rows] == ["pass", "crash"], rows
    assert rows[1].cause == "kernel.returns: AssertionError: (1, 2)"


def test_what_does_not_end_is_ended(tmp_path):
    [hangs] = modules_of(folder_of(tmp_path, {"a.py": HANGS}) / "a.py")
    row = grade.judge(hangs, "a.py:softmax", {**WORDS, "time_limit": 1.0}, lambda: False)
    assert (row.verdict, row.cause) == ("timeout", "no verdict within 1 s") and row.seconds >= 1


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("pass", "the function's result: need an array, got NoneType"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("import os; os._exit(0)", "ended by exit(0)"),
        ("while True: pass", "a call did not return within 2 s"),
    ],
)
def test_a_cause_says_how_a_call_ended(tmp_path, body, cause):
    [module] = modules_of(folder_of(tmp_path, {"a.py": f"def softmax(x):\n    {body}\n"}) / "a.py")
    row = grade.judge(module, "a.py:softmax", {**WORDS, "time_limit": 5.0, "domain": "n<=9 rows<=2"}, lambda: False)
    assert row.cause == f"kernel.returns: {cause}", row


def test_a_nan_that_is_lost_is_of_an_input_with_nan(tmp_path):
    text = SOFTMAX.format(name="softmax", wrong="").replace("    e =", "    x = np.nan_to_num(x, posinf=np.inf, neginf=-np.inf)\n    e =")
    [module] = modules_of(folder_of(tmp_path, {"a.py": text}) / "a.py")
    row = grade.judge(module, "a.py:softmax", WORDS, lambda: False)
    assert row.cause.startswith("kernel.nan_row: a NaN is lost, as in fmaxf"), row


def test_ctrl_c_ends_it_with_what_is_there(tmp_path):
    folder = folder_of(tmp_path, {"a.py": FILES["right.py"], "b.py": HANGS, "c.py": FILES["right.py"], "d.py": FILES["other.py"]})
    command = [sys.executable, "-m", "softcheck.grade", folder, "--out", folder / "out.tsv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout.readline().startswith("a.py:rows")
        [child] = [int(pid) for pid in children_of(process.pid)]
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate(timeout=60)
    assert {name: verdict for name, (verdict, _) in rows_of(folder / "out.tsv").items()} == {
        "a.py:rows": "pass",
        "b.py:softmax": "not judged",
        "c.py:rows": "not judged",
        "d.py": "op not known",
    }
    assert process.returncode == 5 and "3 modules: 1 pass, 2 not judged; 1 file whose op is not known." in text
    assert not pathlib.Path("/proc", str(child)).exists()


def children_of(pid):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if found := pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            return found
        time.sleep(0.05)
    return []


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("softmax", "softmax"),
        ("my_softmax", "softmax"),
        ("SoftmaxTriton", "softmax"),
        ("23_Softmax", "softmax"),
        ("_log_softmax_kernel_impl", "log_softmax"),
        ("LogSoftmax", "log_softmax"),
        ("logsumexp_v2", "logsumexp"),
        ("sparsemax", "sparsemax"),
        ("97_ScaledDotProductAttention", "attention"),
        ("95_CrossEntropyLoss", "cross_entropy_mean"),
        ("test_softmax", None),
        ("softmax_dropout", None),
        ("softmax_kernel_grid", None),
        ("relu", None),
        ("kernel", None),
    ],
)
def test_a_name_says_its_op_only_where_no_word_is_left_over(name, op):
    assert op_of(name) == op


KERNELBENCH = """
import numpy as np

class Model:
    def __init__(self, dim): self.dim = dim
    def forward(self, x): return x
    def __call__(self, x): return self.forward(x)

class ModelNew(Model): pass

def get_inputs(): return [np.zeros((2, 3))]
def get_init_inputs(): return [1]
"""


def test_what_each_collection_of_kernels_has_is_found(tmp_path):
    # KernelBench's classes by their file's name, or by a comment anywhere in it.
    files = {"23_Softmax.py": KERNELBENCH, "best.py": "# op: entropy\n# dtype: float64\n" + KERNELBENCH, "best_2.py": KERNELBENCH}
    # TritonBench's kernel is no function, and its tests are not run; BackendBench's has aten's arguments.
    files["triton_softmax.py"] = (
        "from types import SimpleNamespace as Fake\ntriton = Fake(jit=lambda f: f)\ntorch = Fake(autograd=Fake(Function=object))\n"
        "def triton_softmax(x): return x\n@triton.jit\ndef softmax_kernel(x): ...\nclass softmax(torch.autograd.Function): ...\n"
        f"{'#' * 146}\nraise RuntimeError('needs a GPU')\n"
    )
    files["_softmax/_softmax_implementation_v1.py"] = "def _softmax_kernel_impl(*args, **kwargs): return args\n"
    folder_of(tmp_path, files)
    found = {(module.file.name, module.name): (module.op, module.told) for module in in_folder(tmp_path) if module.op}
    assert found == {
        ("23_Softmax.py", "Model"): ("softmax", {}),
        ("23_Softmax.py", "ModelNew"): ("softmax", {}),
        ("best.py", "Model"): ("entropy", {"dtype": "float64"}),
        ("best.py", "ModelNew"): ("entropy", {"dtype": "float64"}),
        ("triton_softmax.py", "triton_softmax"): ("softmax", {}),
        ("_softmax_implementation_v1.py", "_softmax_kernel_impl"): ("softmax", {}),
    }
    assert load(tmp_path / "23_Softmax.py", "ModelNew", "softmax").function.dim == 1
    assert load(tmp_path / "triton_softmax.py", "triton_softmax", "softmax").function(3) == 3
    aten = load(tmp_path / "_softmax" / "_softmax_implementation_v1.py", "_softmax_kernel_impl", "softmax")
    assert aten.function(7) == (7, -1, False) and aten.takes == ()
    comments = "# op: softmax\n\ndef f(x): ...\n# Op: entropy\ndef g(x): ...\n@decorated\n# op: logsumexp\ndef h(x): ...\ndef i(x): ...\n"
    several = modules_of(folder_of(tmp_path, {"several.py": comments}) / "several.py")
    assert [(module.name, module.op) for module in several] == [("f", "softmax"), ("g", "entropy"), ("h", "logsumexp"), ("", None)]
    assert several[-1].why == "also in this file, no op known: i"
    [wrong] = modules_of(folder_of(tmp_path, {"wrong.py": "# op: sofmax\ndef f(x): ...\n"}) / "wrong.py")
    assert wrong.op is None and wrong.why.startswith("op: need one of softmax, ") and wrong.why.endswith("got 'sofmax'")


def test_a_model_of_torch_is_judged_in_its_inputs_dtype(tmp_path):
    torch = pytest.importorskip("torch")
    text = (
        "import torch\n# op: softmax\n# domain: n<=9 rows<=2\n# contract: sum=tree\n"
        "class Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, dim=1)\n"
        "def get_inputs(): return [torch.rand(1 << 30, 1 << 30, dtype=torch.bfloat16)]\n"
    )
    folder_of(tmp_path, {"a.py": text})
    loaded = load(tmp_path / "a.py", "Model", "softmax")
    assert (loaded.arrays, loaded.dtype, loaded.takes) == ("torch", "bf16", None) and isinstance(loaded.function, torch.nn.Module)
    done = run(tmp_path, tmp_path / "out.tsv")
    assert rows_of(tmp_path / "out.tsv") == {"a.py:Model": ("pass", "")} and done.returncode == 0


def test_what_is_no_folder_is_said(tmp_path):
    done = subprocess.run([sys.executable, "-m", "softcheck.grade", tmp_path / "none"], capture_output=True, text=True)
    assert done.returncode == 2 and "folder: need a folder of Python files, got " in done.stderr
    done = run(tmp_path, tmp_path / "out.tsv", "--time-limit", 0)
    assert done.returncode == 2 and "--time-limit: need a number > 0, got 0" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--effort", "most"), "effort: need quick, default, deep or exhaustive, got 'most'"),
        (("--dtype", "int8"), "got 'int8'"),
        (("--domain", "n<=3 foo"), "got 'foo'"),
        (("--out", "/nosuch/x.tsv"), "--out: need a file that can be written, got /nosuch/x.tsv: No such file or directory"),
        (("--out", "/"), "--out: need a file that can be written, got /: Is a directory"),
    ],
)
def test_wrong_words_are_refused_at_the_start(tmp_path, words, message):
    done = run(folder_of(tmp_path, {"a.py": HANGS, "b.py": "# op: attention\ndef f(q, k, v): return q\n"}), tmp_path / "out.tsv", *words)
    line = done.stderr.splitlines()[-1]
    assert done.returncode == 2 and done.stdout == "" and (line.endswith(message) or f"{message}: " in line), done


def test_words_that_some_op_takes_are_not_refused(tmp_path):
    every = "".join(f"# op: {op}\ndef {op}_of(*a): ...\n" for op in OPS)
    modules = modules_of(folder_of(tmp_path, {"a.py": every}) / "a.py")
    assert len(modules) == len(OPS)
    assert all(grade._refusal([module], "quick", None, None) == "" for module in modules)
    assert grade._refusal(modules, "quick", "float64", "group=1") == "" != grade._refusal(modules[:1], "quick", "float64", "group=1")


def test_a_folder_without_a_module_is_an_error(tmp_path):
    (tmp_path / "empty").mkdir()
    done = run(tmp_path / "empty", tmp_path / "out.tsv")
    assert done.returncode == 2 and "folder: need one that holds a module, got " in done.stderr and not (tmp_path / "out.tsv").exists()
    (tmp_path / "lost.py").symlink_to(tmp_path / "none.py")
    done = run(tmp_path, tmp_path / "out.tsv")
    assert done.returncode == 2 and done.stderr == "" and "0 modules: nothing to judge; 1 file" in done.stdout
    assert rows_of(tmp_path / "out.tsv")["lost.py"][1].startswith("FileNotFoundError: ")


def test_the_exit_code_is_that_of_the_gravest_row():
    assert list(grade.EXIT_CODES) == ["fail", "crash", "timeout", "error", "refused", "vacuous", "undecided", "not judged"]
    done = subprocess.run([sys.executable, "-m", "softcheck.grade", "--help"], capture_output=True, text=True)
    assert "1 fail; 6 crash; 7 timeout; 2 error; 4 refused; 5 vacuous, undecided, not judged; else 0." in done.stdout

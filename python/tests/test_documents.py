"""What the package's page says of its wheel, beside the files that make it.
The Python of README.md, docs/quick_start.md and python/README.md, as it stands there.
In every example the correct kernel passes and the wrong one fails."""

import numpy as np
import os
import pathlib
import pytest
import re
import softcheck
import subprocess
import sys
from kernels import softmax


ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "python" / "README.md").read_text()
# What Debian's packages bring, by the page's names: libraries, and headers whose code is compiled in.
NAMES = {
    "libgmp10": "GMP",
    "libmpfr6": "MPFR",
    "libmpfi0": "MPFI",
    "libhwy1": "Highway",
    "libseccomp2": "libseccomp",
    "libfmt9": "fmt",
    "libzip4": "libzip",
    "zlib1g": "zlib",
    "libstdc++6": "libstdc\\+\\+",
    "libc6": "glibc",
    "librapidcheck-dev": "RapidCheck",
    "nlohmann-json3-dev": "nlohmann's JSON",
    "libeigen3-dev": "Eigen",
    "libcli11-dev": "CLI11",
    "libtomlplusplus-dev": "toml\\+\\+",
}


def test_the_page_names_each_library_of_the_wheel():
    packages = re.search(r"foreach\(package\s(.*?)\)", (ROOT / "cmake" / "softcheck_wheel.cmake").read_text(), re.S)[1].split()
    held = re.search(r"The wheel holds (.*?);", README, re.S)[1]
    assert sorted(packages) == sorted(NAMES)
    assert [name for name in NAMES.values() if not re.search(rf"\b{name}(?!\w)", held)] == []


def test_the_page_says_what_an_installation_from_a_checkout_needs():
    said = re.search(r"`pip install \.`.*?\n\n|`pip install \.`.*", README, re.S)[0]
    assert "Debian packages" in said


# A block that imports what it uses runs alone. The others continue a reader's own program.
BLOCKS = {
    f"{page}-{i}": code
    for page in ("README.md", "docs/quick_start.md", "python/README.md")
    for i, code in enumerate(re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S))
    if re.search(r"^import .*\bsoftcheck\b", code, re.M)
}
# The block that raises what README shows below it.
FAILS = "README.md-0"
# What the others print, where they print a verdict.
SAYS = {
    "docs/quick_start.md-0": r"\bpass\b",
    "docs/quick_start.md-3": r"\bpass\b",
    "python/README.md-0": r"kernel\.softmax\.element(.*\n)*.*\bpass$",
}


def test_the_pages_have_the_blocks_that_the_tests_know():
    assert {FAILS, *SAYS} <= set(BLOCKS)
    assert {page.split("-")[0] for page in BLOCKS} == {"README.md", "docs/quick_start.md", "python/README.md"}


def test_the_first_page_is_short():
    text = (ROOT / "README.md").read_text()
    assert len(text.encode()) <= 8192
    assert [line for line in text.splitlines() if len(line) > 160 and not line.startswith("|")] == []


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_runs_as_it_stands(name, tmp_path):
    code = BLOCKS[name]
    for library in ("torch", "triton", "jax"):
        if re.search(rf"^import .*\b{library}\b", code, re.M):
            pytest.importorskip(library)
    file = tmp_path / "block.py"  # Triton reads a kernel's source from its file
    file.write_text(code)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=280)
    if name == FAILS:
        shown = re.search(r"^```\n(softcheck\.report\.Violation.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[1]
        parts = [re.escape(part) for part in shown.split("...\n")]
        assert re.search(r"^(.*\n)*".join(parts), done.stderr, re.M), done.stderr
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(SAYS.get(name, ""), done.stdout.rstrip()), done.stdout


def test_the_commands_on_files_run_as_they_stand(tmp_path):
    x, p, q, k, v, dout = np.random.default_rng(1).normal(size=(6, 2, 4, 16, 8))
    x, q, k, v, dout = (array.astype(np.float32).astype(np.float64) for array in (x, q, k, v, dout))
    p = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    scores = q @ k.swapaxes(2, 3) / np.sqrt(8)
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    g = dout @ v.swapaxes(2, 3)
    ds = weights * (g - (weights * g).sum(axis=-1, keepdims=True)) / np.sqrt(8)
    dq, dk, dv = ds @ k, ds.swapaxes(2, 3) @ q, weights.swapaxes(2, 3) @ dout
    for name in ("x", "p", "q", "k", "v", "dout", "dq", "dk", "dv"):
        np.save(tmp_path / f"{name}.npy", locals()[name].astype(np.float32))
    commands = re.findall(r"^softcheck (check .*)$", (ROOT / "docs" / "quick_start.md").read_text(), re.M)
    assert len(commands) == 2
    for command in commands:
        done = subprocess.run([sys.executable, "-m", "softcheck", *command.split()], cwd=tmp_path, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("pass: "), done.stdout + done.stderr
    assert (tmp_path / "slack.svg").exists()


# Read once, when Triton is imported: by torch, it may be.
os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))


def finds(report: softcheck.Report, claim: str) -> bool:
    return claim in [finding.claim for finding in report.findings]


def test_numpy():
    import numpy_softmax

    assert softcheck.check(numpy_softmax.softmax)
    assert finds(softcheck.check(numpy_softmax.softmax_without_maximum), "kernel.softmax.element")


def test_torch():
    torch = pytest.importorskip("torch")
    import torch_compile

    assert softcheck.check(torch_compile.softmax, dtype=torch.float32)
    assert softcheck.check(torch_compile.softmax, dtype=torch.bfloat16, contract="sum=tree")
    report = softcheck.check(torch_compile.softmax_in_bfloat16, dtype=torch.bfloat16, domain="n<=4096 rows<=8")
    assert finds(report, "kernel.softmax.element")
    attention = softcheck.infer(torch_compile.attention, **torch_compile.ATTENTION)
    assert attention.contract is not None, str(attention)


def test_torch_compile():
    pytest.importorskip("torch")
    import torch_compile

    report = softcheck.check(torch_compile.compiled, **torch_compile.COMPILED)
    assert report, str(report)


def test_triton_softmax():
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    import triton_softmax

    report = softcheck.check(triton_softmax.softmax, **triton_softmax.JUDGED)
    assert report, str(report)
    assert finds(softcheck.check(triton_softmax.softmax_padded_with_zeros, **triton_softmax.JUDGED), "kernel.softmax.element")


def test_triton_attention():
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    import triton_attention

    report = softcheck.check(triton_attention.attention, **triton_attention.JUDGED)
    assert report, str(report)
    wrong = softcheck.check(triton_attention.attention_without_rescale, **triton_attention.JUDGED)
    assert finds(wrong, "kernel.attention.output")


def test_kernelbench():
    torch = pytest.importorskip("torch")
    import kernelbench

    x = torch.randn(64, 8192)
    assert torch.allclose(kernelbench.Model()(x), kernelbench.ModelNew()(x), rtol=1e-4, atol=1e-4)
    assert kernelbench.judge(kernelbench.Model())
    assert finds(kernelbench.judge(kernelbench.ModelNew()), "kernel.softmax.element")


def test_pallas():
    """Interpreted on the CPU."""
    pytest.importorskip("jax.experimental.pallas")
    import pallas_softmax

    report = pallas_softmax.judge(pallas_softmax.softmax, isolation="none")
    assert report.verdict == "pass", str(report)
    report = pallas_softmax.judge(pallas_softmax.softmax_with_pads_of_zero, isolation="none")
    assert report.verdict == "fail"
    assert finds(report, "kernel.softmax.element")


# The calls in the docstrings of assert_output, reference and threshold, as they stand there; and what the pages say of masks.


def calls_of(function):
    return re.findall(r"^ {8}((?:lower, upper = |allowed = )?softcheck\..*?)(?:  #.*)?$", function.__doc__, re.M)


@pytest.fixture
def names():
    """Results that are exact, each rounded once."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(4, 9)).astype(np.float32)
    q, k, v, dout = rng.normal(size=(4, 1, 2, 5, 3)).astype(np.float32)
    labels = np.array([0, 8, -100, 3])
    outs, lses = rng.normal(size=(3, 5, 4)).astype(np.float32), rng.normal(size=(3, 5)).astype(np.float32)

    def exact(op, *inputs, which=0, dtype=np.float32, **words):
        lower, upper = softcheck.reference(op, *inputs, which=which, **words)
        return ((lower + upper) / 2).astype(dtype)

    causal = {"causal": True}
    gradients = [exact("attention_backward", q, k, v, dout, which=i, **causal) for i in range(3)]
    return {
        "softcheck": softcheck,
        "my_softmax": lambda x: exact("softmax", x),
        "x": x,
        "q": q,
        "k": k,
        "v": v,
        "dout": dout,
        "labels": labels,
        "losses": exact("cross_entropy", x, labels, label_smoothing=0.1),
        "out": exact("attention", q, k, v, **causal),
        "lse": exact("attention", q, k, v, which=1, **causal),
        "dq": gradients[0],
        "dk": gradients[1],
        "dv": gradients[2],
        "weights": exact("topk_softmax", x, k=3, renormalize=True),
        "ids": exact("topk_softmax", x, k=3, which=1, dtype=np.int32),
        "probabilities": exact("top_p_softmax", x, top_p=0.9),
        "outs": outs,
        "lses": lses,
        "merged": exact("merge_states", outs, lses),
        "merged_lse": exact("merge_states", outs, lses, which=1),
    }


@pytest.mark.parametrize("function", [softcheck.assert_output, softcheck.reference, softcheck.threshold])
def test_the_calls_of_a_docstring_run(function, names):
    calls = calls_of(function)
    assert calls
    for call in calls:
        exec(call, dict(names))


def test_the_ops_of_several_outputs_are_among_them():
    text = " ".join(calls_of(softcheck.assert_output))
    for op in ("attention_backward", "topk_softmax", "merge_states", "cross_entropy"):
        assert op in text


def test_a_function_is_told_that_its_mask_may_be_none():
    kinds = set()

    def masked(x, mask):
        kinds.add(type(mask))
        return softmax(x if mask is None else np.where(mask, x, -np.inf).astype(x.dtype))

    softcheck.check(masked, isolation="none", domain="n=3 rows=2", cases=2)
    assert kinds == {type(None), np.ndarray}
    readme = pathlib.Path(__file__).parents[1].joinpath("README.md").read_text()
    for text in (softcheck.check.__doc__, readme):
        assert re.search(r"mask\b[^.;]*\bor\s+None\s+in\s+a\s+call\s+without\s+a\s+mask", text)

#!/usr/bin/env python3
"""Our kernels beside PyTorch's and Triton's, on the same tensors, in turns, in one process.

Needs torch; on a GPU one that was built for CUDA. Prints, for each problem, the median time of ours and of each peer,
the peer's over ours (above 1 ours is faster), and the largest difference between their results, which is no verdict:
softcheck kernel gives those. Raw times go to a JSON file. --device cpu does the same with the CPU's kernels and torch's.
"""
import argparse
import ctypes
import datetime
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from device import DLTensor, takes  # noqa: E402 (the line above comes first: the sources' folder stays as it is)
from session import Lines  # noqa: E402

try:
    import torch
except ImportError:
    print("torch_peers.py: needs Python's torch; it is not installed here", file=sys.stderr)
    sys.exit(4)
try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None


def peer_of(module, name):
    """A peer's function, None where its package is not installed."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return None


liger, quack = peer_of("liger_kernel.ops.softmax", "LigerSoftmaxFunction"), peer_of("quack.softmax", "softmax")

quack_loss = peer_of("quack.cross_entropy", "cross_entropy")

DL_TYPES = {torch.int64: (0, 64), torch.float64: (2, 64), torch.float32: (2, 32), torch.float16: (2, 16), torch.bfloat16: (4, 16)}


def view_of(tensor):
    device = (2, tensor.device.index or 0) if tensor.is_cuda else (1, 0)
    code, bits = DL_TYPES[tensor.dtype]
    numbers = ctypes.c_int64 * tensor.dim()
    return DLTensor(tensor.data_ptr(), (ctypes.c_int32 * 2)(*device), tensor.dim(), code, bits, 1, numbers(*tensor.shape),
                    numbers(*tensor.stride()), 0)


class Kernel:
    """A kernel of a library, called as kernel(inputs, outputs): lists of tensors. The work is queued on torch's stream."""

    def __init__(self, library, symbol, op):
        self.symbol, self.op = symbol, op
        self.function = getattr(library, symbol)
        self.function.restype = ctypes.c_int

    def __call__(self, inputs, outputs, scale=1.0, causal=False):
        views = [view_of(tensor) for tensor in inputs + outputs]  # keeps shapes and strides alive
        stream = torch.cuda.current_stream().cuda_stream if inputs[0].is_cuda else None
        if not takes(self.function, self.op, views[:len(inputs)], views[len(inputs):], scale=scale, causal=int(causal), stream=stream):
            raise RuntimeError(f"{self.symbol} refused {[tuple(t.shape) for t in inputs]} of {inputs[0].dtype}")
        return outputs[0]


# --- peers
if triton is not None:
    @triton.jit
    def triton_softmax_row(out, x, n, width: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        column = tl.arange(0, width)
        logits = tl.load(x + row * n + column, mask=column < n, other=-float("inf")).to(tl.float32)
        weights = tl.exp(logits - tl.max(logits, 0))
        tl.store(out + row * n + column, weights / tl.sum(weights, 0), mask=column < n)


def triton_softmax(x):
    out = torch.empty_like(x)
    width = triton.next_power_of_2(x.shape[1])
    triton_softmax_row[(x.shape[0],)](out, x, x.shape[1], width=width, num_warps=min(32, max(4, width // 512)))
    return out


def entropy(x):
    log_p = torch.log_softmax(x.float(), -1)
    return -(log_p.exp() * log_p).sum(-1)


def adaptive_softmax(x):
    """The paper's Fig. 4: the entropy with 1e-9 in the logarithm, the quartic, at least 1 above 0.5 nats, and the rescaling."""
    p = torch.softmax(x.float(), -1)
    h = -(p * torch.log(p + 1e-9)).sum(-1, keepdim=True)
    quartic = -0.037 * h**4 + 0.481 * h**3 - 2.3 * h**2 + 4.917 * h - 1.791
    beta = torch.where(h > 0.5, torch.clamp(quartic, min=1.0), torch.ones_like(h))
    return torch.softmax(x.float() * beta, -1).to(x.dtype)


def losses(x, labels):
    return torch.nn.functional.cross_entropy(x, labels, reduction="none")


def losses_and_gradient(x, labels, upstream):
    """From the logits, as ours: torch's own gradient needs the losses' saved results."""
    x = x.detach().requires_grad_()
    return torch.autograd.grad(losses(x, labels), x, upstream.to(x.dtype))[0]


def attention_by(backend, q, k, v, causal):
    with torch.nn.attention.sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


# --- measuring
def seconds_of(work, device):
    if device == "cpu":
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(1 << 20)  # keeps the device busy while the host queues the work: its time is not counted
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def difference(left, right):
    return (left.double() - right.double()).abs().max().item()


class Report:
    def __init__(self, device, rounds, lines):
        self.device, self.rounds, self.lines, self.groups = device, rounds, lines, []

    def compare(self, problem, works, yardsticks=None):
        """works: {name: function}, ours first; yardsticks compute something else. A peer that cannot do this problem is
        named with what it said."""
        if self.lines:
            if problem in self.lines.results("peers"):
                return
            self.lines.add(stage="peers", begin=problem)
        able, refused, differences = {}, {}, {}
        first, ours = next(iter(works)), None
        for name, work in {**works, **(yardsticks or {})}.items():
            try:
                result = work()
                if ours is None:
                    ours = result.clone()  # yardsticks write to the same tensor
                elif name in works:
                    differences[name] = difference(ours, result)
                work()  # compilations and caches
                able[name] = work
            except Exception as error:  # whatever a peer raises is its answer
                if name == first:
                    raise
                refused[name] = (str(error).strip().splitlines() or [type(error).__name__])[0]
        del ours, result
        times = {name: [] for name in able}
        for _ in range(self.rounds):
            for name, work in able.items():
                times[name].append(seconds_of(work, self.device))
        self.groups.append({"problem": problem, "seconds": times, "refused": refused, "largest difference": differences})
        middle = {name: statistics.median(values) for name, values in times.items()}
        if self.lines:
            self.lines.add(stage="peers", key=problem, ok=True, seconds=middle, refused=refused, differences=differences)
        print(problem)
        for name, value in middle.items():
            against = "" if name == first else f"  {value / middle[first]:7.3f} of ours"
            differs = f"   differs by {differences[name]:.1e}" if name in differences else ""
            print(f"  {name:28} {value * 1e6:12.1f} us{against}{differs}", flush=True)
        for name, said in refused.items():
            print(f"  {name:28} {'-':>12}     cannot: {said[:90]}", flush=True)


def compare_rows(report, kernels, shapes, dtypes):
    compiled = {"softmax": torch.compile(lambda x: torch.softmax(x, -1), dynamic=False),
                "entropy": torch.compile(entropy, dynamic=False),
                "adaptive": torch.compile(adaptive_softmax, dynamic=False), "loss": torch.compile(losses, dynamic=False),
                "gradient": torch.compile(losses_and_gradient, dynamic=False)}
    for dtype in dtypes:
        for rows, n in shapes:
            x = (4 * torch.randn(rows, n, device=report.device)).to(dtype)
            probs, scalars = torch.empty_like(x), torch.empty(rows, device=report.device)
            labels, upstream = torch.randint(n, (rows,), device=report.device), torch.ones(rows, device=report.device)
            of = f"{rows} x {n} {dtype}".replace("torch.", "")
            peers = {"ours": lambda: kernels["softmax"]([x], [probs]), "torch": lambda: torch.softmax(x, -1),
                     "torch.compile": lambda: compiled["softmax"](x)}
            if triton is not None and n <= 65536:
                peers["triton"] = lambda: triton_softmax(x)
            if liger is not None and x.is_cuda:
                peers["Liger"] = lambda: liger.apply(x)
            if quack is not None and x.is_cuda:
                peers["quack"] = lambda: quack(x)
            report.compare(f"softmax {of}", peers, {"copy": lambda: probs.copy_(x)})
            report.compare(f"entropy {of}", {"ours": lambda: kernels["entropy"]([x], [scalars]),
                                             "torch": lambda: entropy(x), "torch.compile": lambda: compiled["entropy"](x)})
            report.compare(f"adaptive softmax {of}", {
                "ours": lambda: kernels["adaptive_softmax"]([x], [probs]), "paper's code, torch": lambda: adaptive_softmax(x),
                "paper's code, torch.compile": lambda: compiled["adaptive"](x)},
                {"our softmax": lambda: kernels["softmax"]([x], [probs])})
            peers = {"ours": lambda: kernels["cross_entropy"]([x, labels], [scalars]), "torch": lambda: losses(x, labels),
                     "torch.compile": lambda: compiled["loss"](x, labels)}
            if quack_loss is not None and x.is_cuda:  # Liger's writes its gradient over the logits
                peers["quack"] = lambda: quack_loss(x, labels, reduction="none")
            report.compare(f"cross entropy {of}", peers)
            report.compare(f"cross entropy backward {of}", {
                "ours": lambda: kernels["cross_entropy_backward"]([x, labels, upstream], [probs]),
                "torch, loss and gradient": lambda: losses_and_gradient(x, labels, upstream),
                "torch.compile, loss and gradient": lambda: compiled["gradient"](x, labels, upstream)},
                {"copy": lambda: probs.copy_(x)})


def compare_attention(report, kernels, shapes, dtype):
    backend = torch.nn.attention.SDPBackend
    for heads, length, dim, causal in shapes:
        q, k, v = (torch.randn(1, heads, length, dim, device=report.device).to(dtype) for _ in range(3))
        out = torch.empty_like(q)
        lse, entropies = (torch.empty(1, heads, length, device=report.device) for _ in range(2))
        scale = dim**-0.5
        of = f"{heads} heads x {length} x {dim} {dtype}{', causal' if causal else ''}".replace("torch.", "")
        plain, adaptive = kernels["attention"], kernels["adaptive_attention"]
        peers = {"ours": lambda: plain([q, k, v], [out], scale, causal),
                 "ours, with lse and entropy": lambda: plain([q, k, v], [out, lse, entropies], scale, causal)}
        for name, which in (("torch flash", backend.FLASH_ATTENTION), ("torch cuDNN", backend.CUDNN_ATTENTION),
                            ("torch efficient", backend.EFFICIENT_ATTENTION)):
            peers[name] = lambda which=which: attention_by(which, q, k, v, causal)
        report.compare(f"attention {of}", peers)
        report.compare(f"adaptive attention {of}", {"ours": lambda: adaptive([q, k, v], [out], scale, causal)},
                       {"our plain attention": lambda: plain([q, k, v], [out], scale, causal)})


def commit():
    asked = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True,
                           cwd=pathlib.Path(__file__).parent, check=False)
    return asked.stdout.strip() or "unknown"


def write(folder, report, name):
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{date}-peers-{''.join(c if c.isalnum() or c == '-' else '_' for c in name)}.json"
    beside = file.with_suffix(".part")
    beside.write_text(json.dumps({"date": date, "device": name, "commit": commit(), "torch": torch.__version__,
                                  "triton": getattr(triton, "__version__", None), "groups": report.groups}, indent=1) + "\n")
    os.replace(beside, file)
    print(f"raw times: {file}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path, help="libsoftcheck_cuda_kernels.so; with --device cpu libsoftcheck_cpu_kernels.so")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="small problems and few rounds: does everything run?")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("kernels/bench/results"))
    parser.add_argument("--lines", type=pathlib.Path, help="a file of session.py: results are appended to it, and none is written else")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.exit(4, f"torch_peers.py: torch {torch.__version__} sees no CUDA device; --device cpu compares the CPU's kernels\n")
    if not options.library.is_file():
        parser.error(f"needs the library of our kernels, got '{options.library}'")
    on_gpu = options.device == "cuda"
    prefix = "softcheck_cuda_" if on_gpu else "softcheck_"
    try:
        library = ctypes.CDLL(str(options.library.resolve()))
        rows = ("softmax", "entropy", "adaptive_softmax", "cross_entropy", "cross_entropy_backward")
        kernels = {name: Kernel(library, prefix + name, name) for name in rows}
        for name in ("attention", "adaptive_attention"):
            kernels[name] = Kernel(library, prefix + ("mma_" if on_gpu else "") + name, name)
    except (OSError, AttributeError) as error:  # no library, or not one of these kernels
        parser.error(f"needs the library of our kernels for {options.device}: {error}")
    torch.manual_seed(1)
    torch.set_num_threads(int(os.environ.get("SOFTCHECK_THREADS", "1")))
    report = Report(options.device, 3 if options.quick else 50, options.lines and Lines(options.lines))
    if on_gpu and not options.quick:
        rows = [((1 << 27) // n, n) for n in (1024, 4096, 16384, 131072)]
        attention = [(16, length, dim, causal) for dim in (64, 128) for length in (4096, 16384) for causal in (False, True)]
    else:
        rows = [(64, 128), (8, 4096)]
        attention = [(2, 256, 64, False), (2, 256, 64, True)]
    compare_rows(report, kernels, rows, (torch.float32, torch.bfloat16))
    compare_attention(report, kernels, attention, torch.bfloat16)
    if not options.lines:
        write(options.results, report, torch.cuda.get_device_name() if on_gpu else "cpu")


if __name__ == "__main__":
    main()

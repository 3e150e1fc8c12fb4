"""torch_attention.py LIBRARY [--quick] [--only WORDS] [--rounds N]: attention, ours against torch's, one thread.

LIBRARY is libsoftcheck_cpu_kernels.so. Torch's side is torch.nn.functional.scaled_dot_product_attention and its
gradient by torch.autograd.grad. All works of a line take turns in one process; each figure is the least processor time
of the thread over the rounds. Printed: the other side's time over ours, so that more than 1 means that ours is faster.
Torch's gradient has what its forward pass saved; ours is timed with the same (from saved) and without (computing again).
Shares of the peak are those of f32 multiply-adds from registers (libsoftcheck_fma_peak.so beside LIBRARY, a benchmark
target; shown as absent else), measured in the same turns. --only takes some of forward, backward, adaptive, decode,
formats and tiles, with commas. Needs torch (Debian: python3-torch; PyPI: torch) and the package softcheck
(PYTHONPATH=python SOFTCHECK_LIBRARY=build/release/libsoftcheck.so in a checkout), which has the call's structures.
"""

import argparse
import ctypes
import os
import time

from turns import BFLOAT, FLOAT, Kernel, least_seconds, stop, tensor_of, torch_and

SECTIONS = ("forward", "backward", "adaptive", "decode", "formats", "tiles")


def kernel_of(library, name, inputs, outputs, causal, code=FLOAT, **words):
    tensors = ([tensor_of(array, code) for array in arrays] for arrays in (inputs, outputs))
    return Kernel(library, name, *tensors, inputs[0].shape[-1] ** -0.5, causal, **words)


class Peak:
    """f32 multiply-adds from registers."""

    def __init__(self, folder):
        path = os.path.join(folder, "libsoftcheck_fma_peak.so")
        self.run = None
        if os.path.exists(path):
            self.run = ctypes.CDLL(path).softcheck_fma_peak
            self.run.restype, self.run.argtypes = ctypes.c_double, [ctypes.c_int64, ctypes.POINTER(ctypes.c_float)]
        self.operations = 0.0

    def __call__(self):
        if self.run is not None:
            self.operations = self.run(1_000_000, ctypes.byref(ctypes.c_float()))

    def share(self, operations, seconds, peak_seconds):
        if not self.operations:
            return "absent"
        return f"{operations / seconds / (self.operations / peak_seconds):5.1%}"


class Heads:
    """One head of n keys and some queries, and what a kernel writes for them."""

    def __init__(self, torch, queries, n, d, dtype=None):
        draw = torch.Generator().manual_seed(n + d)
        dtype = dtype or torch.float32
        self.q = torch.randn(1, 1, queries, d, generator=draw).to(dtype)
        self.k, self.v = (torch.randn(1, 1, n, d, generator=draw).to(dtype) for _ in range(2))
        self.incoming = torch.randn(1, 1, queries, d, generator=draw).to(dtype)
        self.out, self.dq = torch.zeros_like(self.q), torch.zeros_like(self.q)
        self.dk, self.dv = torch.zeros_like(self.k), torch.zeros_like(self.v)
        self.lse, self.entropy = (torch.zeros(1, 1, queries, dtype=dtype) for _ in range(2))
        self.qkv = [self.q, self.k, self.v]


class Bench:
    def __init__(self, torch, library, peak, rounds):
        self.torch, self.library, self.peak, self.rounds = torch, library, peak, rounds

    def attention(self, h, causal, outputs, adaptive=False, code=FLOAT):
        name = "softcheck_adaptive_attention" if adaptive else "softcheck_attention"
        return kernel_of(self.library, name, h.qkv, outputs, causal, code)

    def theirs(self, h, causal):
        def run():
            with self.torch.no_grad():
                self.result = self.torch.nn.functional.scaled_dot_product_attention(*h.qkv, is_causal=causal)

        return run

    def forward(self, n, d, causal):
        h = Heads(self.torch, n, n, d)
        works = [
            self.attention(h, causal, [h.out]), self.attention(h, causal, [h.out, h.lse, h.entropy]),
            self.theirs(h, causal), self.peak]
        alone, whole, torch_seconds, peak_seconds = least_seconds(works, self.rounds, time.thread_time)
        operations = 4 * n * n * d * (0.5 if causal else 1)
        apart = float((h.out - self.result).abs().max())
        print(
            f"forward {'causal' if causal else 'full  '} n {n:5} d {d:3}  ours {1e3 * alone:8.2f} ms  torch / ours: output {torch_seconds / alone:5.2f}"
            f"  with lse, entropy {torch_seconds / whole:5.2f}  of peak: ours {self.peak.share(operations, alone, peak_seconds)}"
            f" torch {self.peak.share(operations, torch_seconds, peak_seconds)}  apart {apart:.1e}", flush=True)

    def backward(self, n, d, causal):
        torch, h = self.torch, Heads(self.torch, n, n, d)
        name, gradients = "softcheck_attention_backward", [h.dq, h.dk, h.dv]
        again = kernel_of(self.library, name, [*h.qkv, h.incoming], gradients, causal)
        forward = self.attention(h, causal, [h.out, h.lse])
        forward()
        given = [*h.qkv, h.out, h.lse, h.incoming]
        saved = kernel_of(self.library, name, given, gradients, causal, op=13, roles=(2, 3, 4, 5, 6, 7))
        leaves = [x.clone().requires_grad_() for x in h.qkv]
        out = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
        results = {}

        def theirs():
            results["all"] = torch.autograd.grad(out, leaves, h.incoming, retain_graph=True)

        works = [again, saved, theirs, forward, self.theirs(h, causal), self.peak]
        recomputed, own, other, own_forward, other_forward, peak_seconds = least_seconds(works, self.rounds, time.thread_time)
        saved()
        apart = max(float((a - b).abs().max()) for a, b in zip((h.dq, h.dk, h.dv), results["all"]))
        operations = 10 * n * n * d * (0.5 if causal else 1)
        print(
            f"backward {'causal' if causal else 'full  '} n {n:5} d {d:3}  ours {1e3 * own:8.2f} ms  torch / ours: from saved {other / own:5.2f}  computing again {other / recomputed:5.2f}"
            f"  both passes {(other + other_forward) / (own + own_forward):5.2f}  of peak (5 products): ours {self.peak.share(operations, own, peak_seconds)}"
            f" torch {self.peak.share(operations, other, peak_seconds)}  apart {apart:.1e}", flush=True)

    def adaptive(self, n, d, causal):
        h = Heads(self.torch, n, n, d)
        works = [self.attention(h, causal, [h.out], adaptive=True), self.attention(h, causal, [h.out])]
        adaptive, plain = least_seconds(works, self.rounds, time.thread_time)
        print(f"adaptive {'causal' if causal else 'full  '} n {n:5} d {d:3}  ours {1e3 * adaptive:8.2f} ms  adaptive / plain {adaptive / plain:5.2f}", flush=True)

    def decode(self, n, d):
        h = Heads(self.torch, 1, n, d)

        def read():  # one vectorised pass over both
            h.k.sum()
            h.v.sum()

        works = [
            self.attention(h, False, [h.out]), self.attention(h, False, [h.out], adaptive=True), self.theirs(h, False), read]
        own, adaptive, torch_seconds, read_seconds = least_seconds(works, 3 * self.rounds, time.thread_time)
        print(
            f"decode n {n:7} d {d:3}  ours {1e3 * own:8.2f} ms  read / ours {read_seconds / own:5.2f}  read / adaptive {read_seconds / adaptive:5.2f}"
            f"  torch / ours {torch_seconds / own:5.2f}", flush=True)

    def tiles(self, n, d, causal):
        """bf16 by tiles (AMX where the machine has it), with as many results as torch's, and with lse and entropy."""
        torch = self.torch
        f, h = Heads(torch, n, n, d), Heads(torch, n, n, d, torch.bfloat16)
        name = "softcheck_attention_bf16_tiles"
        alone, whole = (kernel_of(self.library, name, h.qkv, outputs, causal, BFLOAT) for outputs in ([h.out], [h.out, h.lse, h.entropy]))
        shape = f"tiles {'causal' if causal else 'full  '} n {n:5} d {d:3}"
        if not alone.is_taken():
            print(f"{shape}  refused: no fused multiply-adds", flush=True)
            return
        works = [
            self.attention(f, causal, [f.out]), self.attention(h, causal, [h.out], code=BFLOAT), whole, alone, self.theirs(h, causal)]
        f32, bf16, whole_seconds, own, other = least_seconds(works, self.rounds, time.thread_time)
        apart = float((h.out.float() - self.result.float()).abs().max())
        print(
            f"{shape}  ours {1e3 * own:8.2f} ms  our f32 / tiles {f32 / own:5.2f}  our bf16 / tiles {bf16 / own:5.2f}"
            f"  torch / tiles: output {other / own:5.2f}  with lse, entropy {other / whole_seconds:5.2f}  apart {apart:.1e}", flush=True)

    def formats(self, n, d, causal):
        torch, works = self.torch, []
        for dtype, code in ((torch.float32, FLOAT), (torch.float16, FLOAT), (torch.bfloat16, BFLOAT)):
            h = Heads(torch, n, n, d, dtype)
            works += [self.attention(h, causal, [h.out], code=code), self.theirs(h, causal)]
        f32, _, f16, torch_f16, bf16, torch_bf16 = least_seconds(works, self.rounds, time.thread_time)
        print(
            f"formats {'causal' if causal else 'full  '} n {n:5} d {d:3}  our f32 / ours: f16 {f32 / f16:5.2f}  bf16 {f32 / bf16:5.2f}"
            f"  torch / ours: f16 {torch_f16 / f16:5.2f}  bf16 {torch_bf16 / bf16:5.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="torch_attention.py")
    parser.add_argument("library", help="the path of libsoftcheck_cpu_kernels.so")
    parser.add_argument("--quick", action="store_true", help="small shapes, once")
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--n", default="1024,2048,4096,8192")
    arguments = parser.parse_args()
    sections = arguments.only.split(",")
    if not set(sections) <= set(SECTIONS):
        stop(f"--only takes some of {', '.join(SECTIONS)}, got {arguments.only}")
    torch, library = torch_and(arguments.library)
    peak = Peak(os.path.dirname(os.path.abspath(arguments.library)))
    bench = Bench(torch, library, peak, 1 if arguments.quick else arguments.rounds)
    peak_seconds, = least_seconds([peak], 3, time.thread_time)
    print(f"torch {torch.__version__}, one thread, f32, one head; peak "
          f"{f'{peak.operations / peak_seconds * 1e-9:.0f} GFLOP/s' if peak.operations else 'absent'}", flush=True)
    lengths = [96] if arguments.quick else [int(n) for n in arguments.n.split(",")]
    for section in SECTIONS:
        if section not in sections:
            continue
        if section == "decode":
            for n in (256,) if arguments.quick else (1 << 16, 1 << 18, 1 << 20):
                bench.decode(n, 64)
            continue
        for d in (64, 128):
            for n in lengths:
                for causal in (False, True):
                    getattr(bench, section)(n, d, causal)


if __name__ == "__main__":
    main()

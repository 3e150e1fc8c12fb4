"""Times `softcheck model` on a random checkpoint with GPT-2 small's layout, and numpy's norms of the same matrices.

    python models/bench/beside_numpy.py build/release/softcheck [--threads N]

Prints, of one run on one machine: the certificates' seconds, the bytes of c_attn that they need a second, the share of the
rate of numpy's own product of two f64 matrices that the four Gram products of a head make up, and the seconds that
numpy.linalg.norm(W, 2) takes for every head's query and key matrix, once read: a norm a matrix, without a bound of its
rounding, and no logit, spread or input that reaches it.
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import time

LAYERS, HEADS, HIDDEN, CONTEXT, VOCABULARY = 12, 12, 768, 1024, 50257
WIDTH = HIDDEN // HEADS
CONFIG = dict(model_type="gpt2", n_layer=LAYERS, n_head=HEADS, n_embd=HIDDEN, n_positions=CONTEXT, n_ctx=CONTEXT,
              layer_norm_epsilon=1e-5, vocab_size=VOCABULARY)
ROUNDS = 5


def write_checkpoint(folder, numpy):
    """The tensors that the certificates read: norms, fused projections, biases; seeded."""
    random = numpy.random.default_rng(20241001)
    tensors = {}
    for layer in range(LAYERS):
        name = f"h.{layer}."
        tensors[name + "ln_1.weight"] = 1 + 0.1 * random.standard_normal(HIDDEN)
        tensors[name + "ln_1.bias"] = 0.1 * random.standard_normal(HIDDEN)
        tensors[name + "attn.c_attn.weight"] = 0.05 * random.standard_normal((HIDDEN, 3 * HIDDEN))
        tensors[name + "attn.c_attn.bias"] = 0.05 * random.standard_normal(3 * HIDDEN)
    header, offset = {}, 0
    for name, tensor in tensors.items():
        tensors[name] = tensor.astype("<f4")
        header[name] = dict(dtype="F32", shape=tensor.shape, data_offsets=[offset, offset + tensors[name].nbytes])
        offset += tensors[name].nbytes
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.tobytes())
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return tensors


def least_seconds(work, rounds=ROUNDS):
    """Wall clock and processor seconds of the quickest round, children included: a busy machine spoils only the first."""
    taken = []
    for _ in range(rounds):
        begin, before = time.perf_counter(), os.times()
        work()
        wall, after = time.perf_counter() - begin, os.times()
        taken.append((wall, sum(after[:4]) - sum(before[:4])))
    return tuple(min(column) for column in zip(*taken))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("softcheck", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    # numpy reads these when it is imported.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    import numpy

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tensors = write_checkpoint(folder, numpy)
        command = [options.softcheck, "model", folder, "--threads", str(options.threads)]
        certify = least_seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))

    def norms():
        for layer in range(LAYERS):
            weights = tensors[f"h.{layer}.attn.c_attn.weight"].astype(float)
            for head in range(2 * HEADS):  # queries, then keys
                numpy.linalg.norm(weights[:, head * WIDTH:(head + 1) * WIDTH], 2)

    of_numpy = least_seconds(norms, 2)
    a = numpy.random.default_rng(1).standard_normal((1024, 1024))
    rate = 2 * 1024**3 / least_seconds(lambda: [a @ a for _ in range(4)])[0] * 4
    # Of a head: W_q W_q^T, W_k W_k^T and the same with the gain in them.
    flops = LAYERS * HEADS * 4 * 2 * WIDTH * WIDTH * HIDDEN
    read = LAYERS * 2 * HIDDEN * HIDDEN * 4
    print(f"threads                        {options.threads}")
    print(f"softcheck model                {certify[0]:.2f} s, of processors {certify[1]:.2f} s")
    print(f"  read                         {read / certify[0] / 1e9:.3f} GB/s")
    print(f"  share of an f64 product      {flops / certify[0] / rate:.2f} of {rate / 1e9:.1f} Gflop/s")
    print(f"numpy.linalg.norm(W, 2)        {of_numpy[0]:.2f} s, of processors {of_numpy[1]:.2f} s")


if __name__ == "__main__":
    main()

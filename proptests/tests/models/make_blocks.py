"""Writes blocks.gguf: random blocks of each quantised type, and beside each what gguf's own Python makes of it.

    pip install gguf==0.19.0 && python make_blocks.py

gguf computes in 32-bit floats: an expected number is the exact one, rounded once.
"""

import pathlib

import gguf
import numpy as np

SEED = 20261123
ROWS, COLUMNS = 2, 512
SCALE_PLACES = {
    **{"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "IQ4_NL": [0], "MXFP4": []},
    **{"Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_XS": [0]},
    **{"TQ1_0": [52], "TQ2_0": [64]},
}


def blocks(name, random):
    kind = gguf.GGMLQuantizationType[name]
    numbers, size = gguf.GGML_QUANT_SIZES[kind]
    data = random.integers(0, 256, (ROWS * COLUMNS // numbers, size), dtype=np.uint8)
    for place in SCALE_PLACES[name]:
        scales = random.normal(0, 1, len(data)).astype(np.float16)
        data[:, place : place + 2] = scales.view(np.uint8).reshape(-1, 2)
    if name == "MXFP4":  # exponents whose numbers are normal floats
        data[:, 0] = random.integers(3, 250, len(data), dtype=np.uint8)
    return data.reshape(ROWS, -1)


random = np.random.default_rng(SEED)
writer = gguf.GGUFWriter(pathlib.Path(__file__).parent / "blocks.gguf", "blocks")
writer.add_uint32("blocks.block_count", 3)
writer.add_float32("blocks.eps", 1e-5)
writer.add_bool("blocks.yes", True)
writer.add_array("blocks.widths", [3, 1, 2])
writer.add_array("blocks.words", ["one", "two"])
writer.add_array("tokenizer.ggml.tokens", ["a", "b", "c"])
for name in SCALE_PLACES:
    kind = gguf.GGMLQuantizationType[name]
    data = blocks(name, random)
    writer.add_tensor(name, data, raw_dtype=kind)
    writer.add_tensor(name + ".expected", gguf.dequantize(data, kind).astype(np.float32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
print("seed", SEED)

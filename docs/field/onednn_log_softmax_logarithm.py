"""onednn 2026.1.0: log_softmax in float32 has a logarithm that is off by up to 3.5e-6, some 29 units of float32 at 1 (oneDNN 3.13.2).

class: within a weaker contract
kernels: log_softmax float32
"""

import importlib.metadata
import sys

import mpmath
from onednn_softmax_nan import run

print("PyPI's onednn", importlib.metadata.version("onednn"))
mpmath.mp.prec = 200
there = []
for text, row in (("[0, -7]", [0, -7]), ("[0, -3.25]", [0, -3.25]), ("zeros(33)", [0] * 33)):
    got, exact = float(run(0x30001, row)[0]), -mpmath.log(sum(mpmath.exp(x) for x in row))
    there.append(abs(got - exact) > 1e-6)  # float32's spacing at 1 is 1.2e-7
    print(f"log_softmax({text})[0], float32 | {got} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if all(there) else "not there")

"""An installed softcheck judges right and wrong functions. Beside it stands python/tests/kernels.py."""

import sys, time
import numpy as np
start = time.perf_counter()
import softcheck
print(f"import beside NumPy: {time.perf_counter() - start:.3f} s")
assert "-packages" in softcheck.__file__, softcheck.__file__
import kernels
assert softcheck.check(kernels.softmax).verdict == "pass"
assert softcheck.check(kernels.one_item_off).verdict == "fail"
x = np.linspace(0, 1, 5, dtype=np.float32)
assert softcheck.assert_output("softmax", x, kernels.softmax(x))
assert softcheck.assert_output("adaptive_softmax", x, softcheck.adaptive_softmax(x))  # by the kernels that came with it

"""mlx 0.32.4: nn.log_softmax of rows of one item ends the process by a segmentation fault (CPU; compiled, shapeless).

class: wrong
kernels: nn.log_softmax float32; nn.log_softmax float16; nn.log_softmax bfloat16
"""
import importlib.metadata, subprocess, sys

program = "import mlx.core as mx, mlx.nn as nn; mx.set_default_device(mx.cpu); print(nn.log_softmax(mx.zeros({0}), axis=-1).tolist())"
got = {}
for shape in ((1, 1), (2, 1)):
    ended = subprocess.run([sys.executable, "-c", program.format(shape)], capture_output=True, text=True)
    # The compiler that mlx calls may have printed warnings before.
    got[shape] = f"signal {-ended.returncode}" if ended.returncode < 0 else ended.stdout.strip().splitlines()[-1]
    print(f"nn.log_softmax(zeros({shape})) | {got[shape]} | {[[0.0]] * shape[0]}")
sys.exit(0 if "signal" in got[1, 1] else f"not there in mlx {importlib.metadata.version('mlx')}")

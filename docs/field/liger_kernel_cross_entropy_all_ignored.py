"""liger_kernel 0.8.5: the mean of the cross-entropy over rows that are all ignored is 0, where torch's is NaN (Triton's interpreter).

class: convention
kernels: LigerCrossEntropyFunction float32
"""
import importlib.metadata, os, sys

os.environ["TRITON_INTERPRET"] = "1"
import torch
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

labels = torch.tensor([-100, -100])
got = LigerCrossEntropyFunction.apply(torch.zeros(2, 3), labels, None, -100, 0.0, 0.0, "mean", None, False, False, False)[0].item()
torchs = torch.nn.functional.cross_entropy(torch.zeros(2, 3), labels).item()
print(f"mean over zeros(2, 3), labels [-100, -100] | {got} (torch: {torchs}) | undefined: no row")
sys.exit(0 if got == 0 else f"not so in liger_kernel {importlib.metadata.version('liger_kernel')}")

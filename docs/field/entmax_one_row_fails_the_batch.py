"""entmax 1.3: sparsemax and entmax15 raise RuntimeError for the whole batch where one row has a NaN or is -inf throughout.

class: convention
kernels: sparsemax float32; entmax15 float32
"""
import sys, entmax, torch

raised = 0
for row in ([float("nan"), 0.0], [-float("inf"), -float("inf")]):
    for function in (entmax.sparsemax, entmax.entmax15):
        try:
            got = function(torch.tensor([row, [2.0, 0.0]]))[1].tolist()
        except RuntimeError as error:
            got, raised = type(error).__name__, raised + 1
        print(f"{function.__name__}([{row}, [2, 0]]), second row | {got} | [1, 0]: that row is finite")
sys.exit(0 if raised else "not so in this version of entmax")

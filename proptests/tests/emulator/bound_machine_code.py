"""Machine code for the tests of kernels/cuda/bound, written with labels in place of addresses."""

import os
import re
import sys

FOLDER = os.environ.get("SOFTCHECK_BOUND") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../kernels/cuda/bound")
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True

ROWS = "_ZN9softcheck7kernels12_GLOBAL__N_110row_kernelINS0_{}ENS0_12RowArgumentsINS0_9CudaBlockILi128EEE{}EEEEvT0_"
SOFTMAX_F32 = ROWS.format("13SoftmaxKernel", "ff")
ENTROPY_F16 = ROWS.format("13EntropyKernel", "NS0_4HalfEf")


def assembled(symbol, text):
    """What `cuobjdump -sass` would print: a line `label:` or an instruction each, 16 bytes apart."""
    lines, labels = [], {}
    for line in filter(None, (part.strip() for part in text.splitlines())):
        if line.endswith(":"):
            labels[line[:-1]] = 16 * len(lines)
        else:
            lines.append(line)
    out = [f"\t\tFunction : {symbol}", '\t.headerflags\t@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"']
    for i, line in enumerate(lines):
        for label, address in labels.items():
            line = re.sub(rf"\b{label}\b", f"{address:#x}", line)
        predicate, _, rest = line.rpartition(" ") if not line.startswith("@") else line.partition(" ")
        instruction = f"{predicate:>6} {rest}" if line.startswith("@") else f"       {line}"
        out.append(f"        /*{16 * i:04x}*/            {instruction} ;    /* 0x0000000402007c0c */")
        out.append(" " * 60 + "/* 0x001fc8000bf03070 */")
    return "\n".join(out) + "\n"


# Two passes over the columns in a loop over rows. In the first, a load of four items at once or, where it is predicated
# away, one by one; a larger maximum, which is rare; and a row without items. The second writes.
SOFTMAX = """
    S2R R0, SR_TID.X
row:
    MOV R1, RZ
statistics:
    ISETP.NE.AND P0, PT, R0, RZ, PT
    @!P0 LDG.E.128 R4, desc[UR4][R2.64]
    @!P0 BRA loaded
    LDG.E R4, desc[UR4][R2.64]
    LDG.E R5, desc[UR4][R2.64+0x4]
    LDG.E R6, desc[UR4][R2.64+0x8]
    LDG.E R7, desc[UR4][R2.64+0xc]
loaded:
    @P1 BRA next
    @!P2 BRA weigh
    IMAD.SHL.U32 R8, R8, 0x800000, RZ
    MUFU.RCP R9, R9
weigh:
    IMAD.SHL.U32 R8, R4, 0x800000, RZ
    SHF.L.U32 R8, R5, 0x17, RZ
    SHF.L.U32 R8, R6.reuse, 0x17, RZ
    IMAD.SHL.U32 R8, R7, 0x800000, RZ
    MUFU.EX2 R9, R9
    FADD R10, R9, R10
next:
    @P3 BRA statistics
results:
    LDG.E.128 R4, desc[UR4][R2.64]
    IMAD.SHL.U32 R8, R4, 0x800000, RZ
    IMAD.SHL.U32 R8, R5, 0x800000, RZ
    IMAD.SHL.U32 R8, R6, 0x800000, RZ
    IMAD.SHL.U32 R8, R7, 0x800000, RZ
    STG.E.128 desc[UR4][R2.64], R4
    @P3 BRA results
    @P4 BRA row
    EXIT
trap:
    BRA trap
"""

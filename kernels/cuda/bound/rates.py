"""What an H100 SXM can do in a clock, by NVIDIA's published figures, and which of it an instruction takes.

Where a figure is not published, or two published ones differ, the faster one stands here, or none: the bound stays one
that no run can beat.

H100   "NVIDIA H100 Tensor Core GPU Architecture", table of SXM5 and figure of the multiprocessor
Guide  "CUDA C++ Programming Guide", throughput of native arithmetic instructions, compute capability 9.0:
       results per clock of a multiprocessor
Banks  the same guide, shared memory of compute capability 5.x to 9.0: 32 banks, 4 bytes a clock each
"""

import re
from collections import Counter

from sass import Malformed

MULTIPROCESSORS = 132  # H100
MEMORY_BYTES_PER_SECOND = 3.35e12  # H100 data sheet, SXM
# H100: 66.9 TFLOP/s of FP32 are 132 x 128 x 2 at 1.98 GHz, 989.4 of dense FP16 are 132 x 4096 at 1.83 GHz.
CLOCK = 1.98e9
TENSOR_CLOCK = 1.83e9
TENSOR_FLOPS_PER_CLOCK = 4096  # of a multiprocessor, FP16 or BF16, dense
REGISTERS, MOST_BLOCKS, MOST_THREADS = 65536, 32, 2048  # of a multiprocessor, compute capability 9.0: Guide
WARP = 32
LSU_BYTES_PER_CLOCK = 128  # Banks; the first-level cache is the same memory

# Clocks that a warp's instruction occupies its pipe: 32 over the results per clock.
CLOCKS = {
    "fma": WARP / 128,  # FP32 add, multiply, fma; half2: Guide
    "imad": WARP / 64,  # 32-bit integer multiply-add, and moves that are written as such: Guide
    "fp64": WARP / 64,  # Guide
    "alu": WARP / 64,  # integer add, compare, select, shift, logic; FP32 compare: Guide
    "convert": WARP / 64,  # conversions without 64-bit types: Guide
    "xu": WARP / 16,  # reciprocals, logarithms; conversions with 64-bit types: Guide
    "shuffle": WARP / 32,  # Guide
    "vote": WARP / 64,  # Guide
}
ISSUED_PER_CLOCK = 4  # a warp's instruction for each of four schedulers: H100

NAMES = {
    "tensor": "HMMA",
    "fma": "FADD FMUL FFMA FFMA32I FADD32I FMUL32I HADD2 HMUL2 HFMA2 HADD2_32I HMUL2_32I HFMA2_32I",
    "imad": "IMAD IMUL IDP",
    "fp64": "DADD DMUL DFMA DSETP DMNMX",
    "alu": "IADD3 VIADD IADD IADD32I ISETP ICMP IMNMX VIMNMX VIADDMNMX IABS LEA LOP3 LOP LOP32I PLOP3 SHF SHL SHR BMSK "
           "SGXT SEL MOV MOV32I PRMT FSETP FSEL FMNMX FSET HSETP2 HMNMX2 HSET2 P2R R2P",
    "convert": "F2FP F2IP I2FP I2IP",
    "xu": "MUFU POPC FLO BREV",
    "shuffle": "SHFL",
    "vote": "VOTE VOTEU",
    "shared": "LDS STS LDSM STSM ATOMS",
    "global": "LDG STG ATOM ATOMG RED LD ST LDL STL LDGSTS",
    "control": "BRA JMP EXIT RET CALL BSSY BSYNC BREAK WARPSYNC ENDCOLLECTIVE BAR MEMBAR DEPBAR NOP NANOSLEEP YIELD KILL BPT "
               "ERRBAR CCTL ELECT PREEXIT",
    # Nothing is published of their rates: they take a scheduler's clock alone.
    "other": "S2R S2UR LDC ULDC UMOV UIADD3 UIMAD ULEA ULOP3 UPLOP3 USHF USEL UISETP UPRMT USGXT UFLO UP2UR UPOPC UBMSK "
             "UBREV CS2R R2UR LEPC FCHK",
}
CLASS_OF = {name: kind for kind, names in NAMES.items() for name in names.split()}
CLASSES = list(NAMES)


def class_of(instruction):
    """The class that an instruction is counted in."""
    name, modifiers = instruction.name, instruction.modifiers
    if name in ("F2F", "F2I", "I2F", "FRND"):
        return "xu" if any("64" in modifier for modifier in modifiers) else "convert"
    if name in CLASS_OF:
        return CLASS_OF[name]
    raise Malformed(f"an instruction of no known class at {instruction.address:#x}: {instruction.opcode}")


def bytes_of(instruction):
    """What a thread moves by a load or a store."""
    modifiers = instruction.modifiers
    if instruction.name in ("LDSM", "STSM"):
        return 4 * int(modifiers[-1]) if modifiers[-1].isdigit() and modifiers[-1] != "16" else 4
    for modifier, size in (("U8", 1), ("S8", 1), ("U16", 2), ("S16", 2), ("64", 8), ("128", 16)):
        if modifier in modifiers:
            return size
    return 4


def flops_of(instruction):
    """Of a warp's product on tensor cores: HMMA.16816 is 16 x 8 x 16."""
    shape = next((m for m in instruction.modifiers if re.fullmatch(r"16816|1688", m)), None)
    if shape is None:
        raise Malformed(f"a product of unknown shape at {instruction.address:#x}: {instruction.opcode}")
    return 2 * 16 * 8 * int(shape[3:])


def counts_of(instructions):
    """How many of each class."""
    counts = Counter(class_of(instruction) for instruction in instructions)
    return {kind: counts[kind] for kind in CLASSES}


def clocks_of(instructions, lines_apart=False):
    """The clocks of a multiprocessor that a warp's instructions occupy each pipe. lines_apart: each lane loads from a line
    of its own, of which the cache moves 32 bytes at least. A load from shared memory takes one clock: all lanes may want
    the same word."""
    clocks = Counter()
    for instruction in instructions:
        kind = class_of(instruction)
        clocks["issue"] += 1 / ISSUED_PER_CLOCK
        if kind == "tensor":
            clocks["tensor"] += flops_of(instruction) / TENSOR_FLOPS_PER_CLOCK
        elif kind in ("shared", "global"):
            moved = max(32 if lines_apart and instruction.name == "LDG" else 4, bytes_of(instruction))
            clocks["lsu"] += 1.0 if instruction.name == "LDS" else WARP * moved / LSU_BYTES_PER_CLOCK
        elif kind in CLOCKS:
            clocks[kind] += CLOCKS[kind]
    return clocks


def memory_clocks(moved, clock=CLOCK):
    """The clocks of a multiprocessor in which its share of the memory's bandwidth moves so many bytes."""
    return moved / (MEMORY_BYTES_PER_SECOND / MULTIPROCESSORS / clock)


def blocks_by_registers(registers, threads):
    """Blocks that a multiprocessor holds at once, as far as registers and threads tell. A warp gets registers in units of
    256: Guide."""
    of_warp = -(-registers * WARP // 256) * 256
    return min(MOST_BLOCKS, MOST_THREADS // threads, REGISTERS // (of_warp * (threads // WARP)) if of_warp else MOST_BLOCKS)

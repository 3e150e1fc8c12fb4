"""kernels/cuda/instructions on machine code whose loops, passes and counts are known."""

import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.environ.get("SOFTCHECK_INSTRUCTIONS") or os.path.join(HERE, "../../../kernels/cuda/instructions"))
sys.dont_write_bytecode = True

import counts  # noqa: E402 (the folder comes first)
from items import counted_loops  # noqa: E402
from passes import Program, Work  # noqa: E402
from sass import Malformed, parsed, short_name  # noqa: E402

PREFIX = "_ZN9softcheck7kernels12_GLOBAL__N_1"
ROWS = PREFIX + "10row_kernelINS0_{}ENS0_12RowArgumentsINS0_9CudaBlockILi128EEE{}EEEEvT0_"
SOFTMAX_F32, ENTROPY_F16 = ROWS.format("13SoftmaxKernel", "ff"), ROWS.format("13EntropyKernel", "NS0_4HalfEf")
MMA_STATISTICS = PREFIX + "21mma_statistics_kernelILi64ENS0_4HalfEfEEvT0_"
ATTENTION = PREFIX + "16attention_kernelILb0EffEEvT0_"
STATISTICS = PREFIX + "27attention_statistics_kernelIffEEvT0_"
KEY_BACKWARD = PREFIX + "19key_backward_kernelILb0EfEEvT_"
TREE = PREFIX + "16tree_warp_kernelINS0_4tree13SoftmaxKernelELi1EfEEvNS0_13TreeArgumentsINS1_9TreeBlockET1_EE"
MERGE = PREFIX + "18merge_parts_kernelILb0EffEEvT_"


def assembled(symbol, text):
    """What `cuobjdump -sass` would print: a label, "end:", or an instruction each, 16 bytes apart; labels as addresses."""
    lines, labels = [], {}
    for line in filter(None, map(str.strip, text.split(";"))):
        if line.endswith(":"):
            labels[line[:-1]] = f"{16 * len(lines):#x}"
        else:
            lines.append(line)
    out = [f"\t\tFunction : {symbol}", '\t.headerflags\t@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"']
    for i, line in enumerate(lines):
        line = re.sub(r"\b\w+\b", lambda word: labels.get(word[0], word[0]), line)
        out += [f"        /*{16 * i:04x}*/    {'' if line[0] == '@' else '     '}{line} ;    /* 0x0000000402007c0c */",
                " " * 60 + "/* 0x001fc8000bf03070 */"]
    return "\n".join(out) + "\n"


def resources(symbol, registers, stack=0):
    """What `cuobjdump -res-usage` would print."""
    return f" Function {symbol}:\n  REG:{registers} STACK:{stack} SHARED:16 LOCAL:0\n"


def kernel(text, symbol="kernel"):
    return parsed(assembled(symbol, text), resources(symbol, 32), "test")[0]


def program(text):
    return Program(kernel(text))


# Two passes over the columns in a loop over rows. In the first, a load of four items at once or, where it is predicated
# away, one by one; a larger maximum, which is rare; and a row without items. The second writes.
LOAD, VECTOR = "LDG.E R4, desc[UR4][R2.64];", "LDG.E.128 R4, desc[UR4][R2.64];"
SHIFT, EXPONENTIAL = "IMAD.SHL.U32 R8, R7, 0x800000, RZ;", "SHF.L.U32 R8, R5.reuse, 0x17, RZ;"
SOFTMAX = (f"S2R R0, SR_TID.X; row: ; MOV R1, RZ; statistics: ; ISETP.NE.AND P0, PT, R0, RZ, PT; @!P0 {VECTOR} @!P0 BRA loaded;"
           f"{4 * LOAD} loaded: ; @P1 BRA next; @!P2 BRA weigh; {SHIFT} MUFU.RCP R9, R9; weigh: ; {2 * SHIFT} {2 * EXPONENTIAL}"
           f"MUFU.EX2 R9, R9; FADD R10, R9, R10; next: ; @P3 BRA statistics; results: ; {VECTOR} {4 * SHIFT}"
           "STG.E.128 desc[UR4][R2.64], R4; @P3 BRA results; @P4 BRA row; EXIT; trap: ; BRA trap")
# The loops of attention and nothing else.
TILES = "query: ; MOV R0, RZ; tile: ; MOV R1, RZ; {} @P5 BRA tile; @P6 BRA query; EXIT"
PRODUCTS = 2 * VECTOR + 16 * "HMMA.16816.F32 R4, R8, R12, R4;" + 16 * EXPONENTIAL
DOT = "{0}: ;" + 16 * LOAD + 16 * "FFMA R4, R4, R5, R6;" + "@P0 BRA {0};"
COLUMNS = "columns: ; LDS.128 R4, [R2];" + "".join(f"@!P{i} BRA w{i}; {LOAD} FADD R4, R4, R5; w{i}: ;" for i in range(4)) + "@P4 BRA columns;"


class Loops(unittest.TestCase):
    def test_loops_by_header_depth_and_instructions(self):
        for text, loops in (
                ("FADD R0, R0, R1; @P0 BRA out; NOP; out: ; EXIT", []),
                ("NOP; top: ; NOP; @P0 BRA top; EXIT", [(1, 1, [1, 2])]),
                ("outer: ; NOP; inner: ; NOP; @P0 BRA inner; more: ; NOP; @P1 BRA more; @P2 BRA outer; EXIT",
                 [(0, 1, [0, 1, 2, 3, 4, 5]), (1, 2, [1, 2]), (3, 2, [3, 4])]),
                ("a: ; NOP; b: ; NOP; c: ; NOP; @P0 BRA c; @P1 BRA b; @P2 BRA a; EXIT",
                 [(0, 1, [0, 1, 2, 3, 4, 5]), (1, 2, [1, 2, 3, 4]), (2, 3, [2, 3])]),
                # Two back edges to one header; an EXIT with a predicate; a way out of the middle; what nothing reaches; a call.
                ("top: ; NOP; @P0 BRA b; NOP; BRA top; b: ; NOP; @P1 BRA top; EXIT", [(0, 1, [0, 1, 2, 3, 4, 5])]),
                ("top: ; NOP; @P0 EXIT; NOP; @P1 BRA top; EXIT", [(0, 1, [0, 1, 2, 3])]),
                ("top: ; NOP; @P0 BRA out; NOP; BRA top; out: ; NOP; EXIT", [(0, 1, [0, 1, 2, 3])]),
                ("EXIT; trap: ; BRA trap", []),
                ("top: ; CALL.REL.NOINC divide; @P0 BRA top; EXIT; divide: ; NOP; RET.REL.NODEC R2 0x0", [(0, 1, [0, 1])])):
            found = program(text)
            self.assertEqual([(found.address(loop) // 16, loop.depth, [i.address // 16 for i in found.of_blocks(sorted(loop.blocks))])
                              for loop in found.loops], loops, text)

    def test_conditions_of_branches(self):
        for branch, following in (("@P0 BRA out", [1, 2]), ("@!UP0 BRA out", [1, 2]), ("BRA !P1, out", [1, 2]),
                                  ("BRA.DIV UR4, out", [1, 2]), ("BRA out", [2]), ("@PT BRA out", [2])):
            self.assertEqual(sorted(program(f"{branch}; NOP; out: ; EXIT").blocks[0].successors), following, branch)

    def test_what_cannot_be_told_is_refused(self):
        for text, said in (("@P0 BRA b; a: ; NOP; b: ; NOP; @P1 BRA a; EXIT", "a loop with two entries"),
                           ("BRX R2 -0x10; EXIT", "an indirect branch at 0x0: BRX"),
                           ("BRA 0x1230; EXIT", "a branch at 0x0 to no instruction: 0x1230")):
            with self.assertRaisesRegex(Malformed, f"^{said}"):
                program(text)


class Passes(unittest.TestCase):
    def ordinary(self, text, work=Work(), inner=0):
        """The places of the instructions of a pass; inner: it goes through so many of the loops inside."""
        found = program(f"top: ; {text}; @P6 BRA top; EXIT")
        return [i.address // 16 for i in found.ordinary(found.loops[0], work, [loop.header for loop in found.loops[1:1 + inner]])]

    def test_the_cheapest_way_is_taken(self):
        self.assertEqual(self.ordinary("NOP; @P0 BRA short; NOP; NOP; BRA end; short: ; NOP; end:"), [0, 1, 5, 6])
        self.assertEqual(self.ordinary("NOP; @P0 BRA long; NOP; BRA end; long: ; NOP; NOP; NOP; end:"), [0, 1, 2, 3, 7])
        self.assertEqual(self.ordinary("NOP"), [0, 1])

    def test_the_way_does_the_work(self):
        skipped = "@P0 BRA end; LDG.E.64 R2, desc[UR4][R2.64]; end:"
        self.assertEqual(self.ordinary(skipped), [0, 2])
        self.assertEqual(self.ordinary(skipped, Work(loaded=8)), [0, 1, 2])
        with self.assertRaisesRegex(Malformed, r"^kernel: no pass of the loop at 0x0 does Work\(.*loaded=9"):
            self.ordinary(skipped, Work(loaded=9))

    def test_a_load_with_the_branchs_predicate_runs_on_one_side(self):
        for predicate, between, places in (("@P0", "", [0, 1, 3]), ("@!P0", "", [0, 1, 2, 3]),
                                           # Of another predicate, or of one that has changed, nothing is known.
                                           ("@!P2", "", [0, 1, 3]), ("@!P0", "ISETP.NE.AND P0, PT, R0, RZ, PT;", [0, 1, 2, 4])):
            self.assertEqual(self.ordinary(f"{predicate} {VECTOR} {between} @P0 BRA end; NOP; end:", Work(loaded=16)), places)

    def test_loops_inside_cost_nothing_but_are_gone_through_where_asked(self):
        text = "NOP; @P0 BRA end; inner: ; FFMA R0, R0, R1, R2; @P1 BRA inner; NOP; end:"
        self.assertEqual(self.ordinary(text), [0, 1, 5])
        self.assertEqual(self.ordinary(text, inner=1), [0, 1, 4, 5])
        text = "@P0 BRA plain; inner: ; NOP; NOP; NOP; @P1 BRA inner; BRA end; plain: ; NOP; NOP; end:"
        self.assertEqual(self.ordinary(text), [0, 5, 8])

    def test_the_most_work_of_a_pass(self):
        for text, most in ((f"@P0 BRA b; {LOAD} BRA end; b: ; LDG.E.U16 R2, desc[UR4][R2.64]; end: ; STG.E.64 desc[UR4][R2.64], R2",
                            Work(loaded=4, stored=8)),
                           ("LDG.E.U8 R2, desc[UR4][R2.64]", Work()),  # a mask
                           ("HMMA.16816.F32 R4, R8, R12, R4; HMMA.16816.F32.BF16 R4, R8, R12, R4", Work(products=2)),
                           ("HMMA.1688.F32 R4, R8, R12, R4", Work()),
                           ("SHF.L.U32 R1, R2, 0x17, RZ; SHF.L.U32 R1, R2.reuse, 0x14, RZ", Work(2)),
                           ("IMAD.SHL.U32 R1, R2, 0x800000, RZ; IMAD.SHL.U32 R1, R2, 0x100000, RZ", Work(2)),
                           ("SHF.L.U32 R1, R2, 0x10, RZ; IMAD.SHL.U32 R1, R2, 0x8, RZ; SHF.R.U32.HI R1, RZ, 0x17, R2", Work())):
            found = program(f"top: ; {text}; @P1 BRA top; EXIT")
            self.assertEqual(found.most(found.loops[0]), most, text)


class Names(unittest.TestCase):
    def test_kernels_are_named_as_people_call_them(self):
        prefix = "void softcheck::kernels::(anonymous namespace)::"
        half, block = "softcheck::kernels::Half", "softcheck::kernels::CudaBlock<128>, "
        tree = "softcheck::kernels::tree::LogSoftmaxKernel"
        for demangled, name in (
                (f"row_kernel<softcheck::kernels::F64Rows<{tree}>, softcheck::kernels::RowArguments<{block}double> >(X)", "log_softmax f64"),
                (f"row_kernel<softcheck::kernels::VarentropyKernel, softcheck::kernels::StatisticsArguments<{block}{half}, float> >(X)",
                 "varentropy f16->f32"),
                (f"row_kernel<softcheck::kernels::AdaptiveSoftmaxBackwardKernel, softcheck::kernels::RowGradientArguments<{block}"
                 "softcheck::kernels::BFloat> >(X)", "adaptive_softmax_backward bf16"),
                (f"tree_warp_kernel<{tree}, 8, float>(softcheck::kernels::TreeArguments<TreeBlock, float>)", "tree_log_softmax warp 8 f32"),
                (f"mma_attention_kernel<true, 128, {half}, float>(X)", "mma_attention true 128 f16->f32"),
                ("attention_kernel<false, double, double>(X)", "attention false f64")):
            self.assertEqual(short_name(prefix + demangled), name)

    def test_resources_belong_to_their_kernel(self):
        code = assembled(SOFTMAX_F32, SOFTMAX) + assembled(ENTROPY_F16, "EXIT")
        found = parsed(code, resources(ENTROPY_F16, 40) + resources(SOFTMAX_F32, 79, 8), "test")
        self.assertEqual([(k.name, k.registers, k.stack) for k in found], [("softmax f32", 79, 8), ("entropy f16->f32", 40, 0)])

    def test_what_has_no_code_or_resources_is_refused(self):
        code = assembled("g", "EXIT")
        for text, said in (("no machine code", "no kernel for this architecture"), ("\t\tFunction : f\n", "f has no instructions"),
                           (code, "g has no resources"), (code.partition("\n")[2], "an instruction before any function")):
            with self.assertRaisesRegex(Malformed, f"^test: {said}$"):
                parsed(text, resources("f", 32), "test")


class Items(unittest.TestCase):
    def counted(self, text, symbol, loops, per_item):
        found = counted_loops(kernel(text, symbol))
        self.assertEqual((found, counts.per_item(found)), (loops, per_item))

    def refused(self, said, text, symbol):
        with self.assertRaisesRegex(Malformed, f"^{said}"):
            counted_loops(kernel(text, symbol))

    def test_a_row(self):
        self.counted(SOFTMAX, SOFTMAX_F32, {"statistics": (12, 4), "results": (7, 4)}, 19 / 4)
        rare = SOFTMAX.replace("MUFU.RCP R9, R9;", 9 * "MUFU.RCP R9, R9;")
        self.counted(rare, SOFTMAX_F32, {"statistics": (12, 4), "results": (7, 4)}, 19 / 4)

    def test_a_row_in_registers(self):
        row = f"row: ; {VECTOR} {4 * EXPONENTIAL} FADD R0, R0, R1; STG.E.128 desc[UR4][R2.64], R4; @P0 BRA row; EXIT"
        self.counted(row, TREE, {"row": (8, 4)}, 2)
        self.counted(row, TREE.replace("warp", "part").replace("16tree_part", "17tree_parts"), {}, 0)
        self.refused("tree_softmax warp 1 f32: no pass of the loop", row.replace("E.128", "E.64"), TREE)
        self.refused("tree_softmax warp 1 f32: no pass of the loop", row.replace(EXPONENTIAL, "", 1), TREE)
        self.refused("tree_softmax warp 1 f32: 0 loops read rows, expected 1", "EXIT", TREE)

    def test_a_row_with_other_loops_is_refused(self):
        for old, new, said in (("STG.E.128", "STG.E.64", "softmax f32, results: a pass loads 16 and stores 8 bytes: not 1 and 1 tensors of 4"),
                               (4 * SHIFT, 3 * SHIFT, "softmax f32: no pass of the loop at 0x140 does Work.exponentials=4"),
                               ("@P3 BRA results", "NOP", "softmax f32: 1 loops read columns, expected 2")):
            self.assertIn(old, SOFTMAX)
            self.refused(said, SOFTMAX.replace(old, new), SOFTMAX_F32)
        self.refused("cosine f32: .*items.py has no such kernel", SOFTMAX, ROWS.format("12CosineKernel", "ff"))
        self.refused("softmax: .*items.py has no such kernel", SOFTMAX, ROWS.format("13SoftmaxKernel", "cc"))

    def test_a_tile_of_products(self):
        # MOV and BRA, two loads, 16 products, 16 shifts.
        self.counted(TILES.format(PRODUCTS), MMA_STATISTICS, {"scores": (36, 16)}, 36 / 16)
        for old, new in (("HMMA.16816", "HMMA.1688"), ("E.128", "E.64"), (EXPONENTIAL, "")):
            self.refused("mma_statistics 64 f16->f32: no pass of the loop", TILES.format(PRODUCTS.replace(old, new, 1)), MMA_STATISTICS)
        self.refused("mma_statistics 64 f16->f32: 0 loops of products, expected 1", TILES.format("NOP;"), MMA_STATISTICS)

    def test_a_query_and_its_keys(self):
        self.counted(TILES.format(DOT.format("dot") + EXPONENTIAL + COLUMNS), ATTENTION,
                     {"weights and output": (3, 1), "weights and output: dot": (33, 16), "weights and output: columns": (14, 4)},
                     3 + 128 * (33 / 16 + 14 / 4))
        self.counted(TILES.format("".join(DOT.format(f"dot{i}") + EXPONENTIAL for i in range(4))), STATISTICS,
                     {"statistics": (6, 4), "statistics: dot": (4 * 33, 16 * 4)}, 6 / 4 + 128 * 33 / 16)
        self.counted(TILES.format(DOT.format("dot") + DOT.format("more") + EXPONENTIAL + COLUMNS), KEY_BACKWARD,
                     {"gradient": (3, 1), "gradient: dot": (66, 16), "gradient: columns": (14, 4)}, 3 + 128 * (66 / 16 + 14 / 4))
        self.counted(COLUMNS + "EXIT", MERGE, {"parts": (14, 4)}, 14 / 4)

    def test_a_tile_with_other_loops_is_refused(self):
        for text, said in ((DOT.format("dot") + DOT.format("more") + EXPONENTIAL + COLUMNS, ", weights and output: 2 dot products and 1 loops"),
                           (DOT.format("dot") + EXPONENTIAL, ", weights and output: 1 dot products and 0 loops"),
                           (EXPONENTIAL + COLUMNS, ": 0 loops over keys, expected 1")):
            self.refused(f"attention false f32{said}", TILES.format(text), ATTENTION)


class Counts(unittest.TestCase):
    def test_a_kernel_keeps_within_its_budget(self):
        def over(registers=64, stack=0, count=64, items=32, name="tree_softmax warp 8 f32"):
            kernels = {name: (registers, stack, {"row": (count, items)}), "tree_softmax block 8 f32": (64, 0, {"row": (64, 32)})}
            return counts.over_budget(kernels, "op\tregisters\tper item\ntree_softmax\t64\t2.0\twhy\n")
        self.assertEqual(over(), [])
        self.assertEqual(over(registers=65), ["tree_softmax warp 8 f32: 65 registers of 64"])
        self.assertEqual(over(stack=8), ["tree_softmax warp 8 f32: 8 bytes of stack"])
        for name in ("tree_softmax cluster 8 f32", "tree_softmax grid 8 false f32"):
            self.assertEqual(over(registers=128, stack=8, name=name), [f"{name}: 8 bytes of stack"])
            self.assertEqual(over(registers=129, name=name), [f"{name}: 129 registers of 128"])
        self.assertEqual(over(count=65), ["tree_softmax warp 8 f32: 2.0 instructions an item of 2.0"])
        self.assertEqual(over(count=65, items=16), [])  # whose share of a row's own instructions is larger
        bf16 = "tree_softmax block 2 bf16"
        self.assertEqual(over(count=33, items=16, name=bf16), [f"{bf16}: 2.1 instructions an item of 2.0"])
        self.assertEqual(over(registers=65, name="softmax f32"), [])

    def test_a_count_that_differs_is_a_change(self):
        def written(name="softmax f32", registers=79, stack=0, count=7):
            return counts.written("V1", {name: (registers, stack, {"results": (count, 4)}), "z": (1, 0, {"results": (1, 1)})})
        recorded = "softmax f32\t79\t0\t1.8\tresults 7/4"
        self.assertEqual(written(), f"# compiler: V1\n{counts.HEADER}\n{recorded}\nz\t1\t0\t1.0\tresults 1/1\n")
        for now, line in ((written(count=8), "softmax f32\t79\t0\t2.0\tresults 8/4"), (written(count=6), "softmax f32\t79\t0\t1.5\tresults 6/4"),
                          (written(registers=80), "softmax f32\t80\t0\t1.8\tresults 7/4"),
                          (written(stack=8), "softmax f32\t79\t8\t1.8\tresults 7/4"), (written(name="softmin"), "softmin\t79\t0\t1.8\tresults 7/4")):
            self.assertEqual(counts.changes(now, written()), sorted([f"{recorded}\t(recorded)", f"{line}\t(now)"]))
        self.assertEqual(counts.changes(written(), written()), [])
        self.assertEqual(counts.changes(written(), written().replace(recorded + "\n", "")), [f"{recorded}\t(now)"])
        self.assertEqual(counts.changes(written().replace(recorded + "\n", ""), written()), [f"{recorded}\t(recorded)"])


if __name__ == "__main__":
    unittest.main()

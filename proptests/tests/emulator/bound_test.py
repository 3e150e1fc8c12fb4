"""kernels/cuda/bound on machine code whose loops, passes and counts are known."""

import unittest

from bound_machine_code import ENTROPY_F16, ROWS, SOFTMAX, SOFTMAX_F32, assembled

import counts
import models
import page
import rates
from loops import cheapest_pass
from passes import Program, Work
from sass import Malformed, add_resources, parsed, short_name


def program(text, symbol="kernel"):
    return Program(parsed(assembled(symbol, text), "test")[0])


def addresses(found, blocks):
    return [instruction.address for instruction in found.of_blocks(blocks)]


class Loops(unittest.TestCase):
    def headers(self, found):
        return [(found.address(loop), loop.depth, len(loop.latches)) for loop in found.loops]

    def test_straight_code_has_none(self):
        self.assertEqual(self.headers(program("FADD R0, R0, R1\n@P0 BRA out\nFMUL R0, R0, R1\nout:\nEXIT")), [])

    def test_a_loop_of_one_block(self):
        self.assertEqual(self.headers(program("MOV R0, RZ\ntop:\nFADD R0, R0, R1\n@P0 BRA top\nEXIT")), [(0x10, 1, 1)])

    def test_loops_in_a_loop(self):
        found = program("outer:\nMOV R0, RZ\ninner:\nFADD R0, R0, R1\n@P0 BRA inner\nmore:\nFMUL R0, R0, R1\n@P1 BRA more\n"
                        "@P2 BRA outer\nEXIT")
        self.assertEqual(self.headers(found), [(0x0, 1, 1), (0x10, 2, 1), (0x30, 2, 1)])
        self.assertEqual([loop.parent for loop in found.loops], [None, found.loops[0], found.loops[0]])
        self.assertEqual(found.loops[0].children, found.loops[1:])

    def test_three_levels(self):
        found = program("a:\nNOP\nb:\nNOP\nc:\nNOP\n@P0 BRA c\n@P1 BRA b\n@P2 BRA a\nEXIT")
        self.assertEqual([loop.depth for loop in found.loops], [1, 2, 3])
        self.assertIs(found.loops[2].parent, found.loops[1])

    def test_two_back_edges_to_one_header_are_one_loop(self):
        found = program("top:\nFADD R0, R0, R1\n@P0 BRA top\nFMUL R0, R0, R1\n@P1 BRA top\nEXIT")
        self.assertEqual(self.headers(found), [(0x0, 1, 2)])
        self.assertEqual(len(found.loops[0].blocks), 2)

    def test_an_exit_with_a_predicate_goes_on(self):
        found = program("top:\nFADD R0, R0, R1\n@P0 EXIT\nFMUL R0, R0, R1\n@P1 BRA top\nEXIT")
        self.assertEqual(self.headers(found), [(0x0, 1, 1)])
        self.assertEqual(addresses(found, sorted(found.loops[0].blocks)), [0x0, 0x10, 0x20, 0x30])

    def test_a_branch_out_of_the_middle_belongs_to_the_loop(self):
        found = program("top:\nFADD R0, R0, R1\n@P0 BRA out\nFMUL R0, R0, R1\nBRA top\nout:\nFMUL R0, R0, R2\nEXIT")
        self.assertEqual(addresses(found, sorted(found.loops[0].blocks)), [0x0, 0x10, 0x20, 0x30])

    def test_what_the_entry_does_not_reach_is_none(self):
        self.assertEqual(self.headers(program("EXIT\ntrap:\nBRA trap")), [])

    def test_a_call_returns(self):
        found = program("top:\nCALL.REL.NOINC divide\n@P0 BRA top\nEXIT\ndivide:\nMUFU.RCP R0, R0\nRET.REL.NODEC R2 0x0")
        self.assertEqual(addresses(found, sorted(found.loops[0].blocks)), [0x0, 0x10])

    def test_conditions_of_branches(self):
        for branch in ("@P0 BRA out", "@!UP0 BRA out", "BRA !P1, out", "BRA.DIV UR4, out"):
            self.assertEqual(sorted(program(f"{branch}\nNOP\nout:\nEXIT").blocks[0].successors), [1, 2], branch)
        for branch in ("BRA out", "@PT BRA out"):
            self.assertEqual(program(f"{branch}\nNOP\nout:\nEXIT").blocks[0].successors, [2], branch)

    def test_what_cannot_be_told_is_refused(self):
        for text, said in (("@P0 BRA b\na:\nNOP\nb:\nNOP\n@P1 BRA a\nEXIT", "a loop with two entries"),
                           ("BRX R2 -0x10\nEXIT", "an indirect branch at 0x0: BRX"),
                           ("BRA 0x1230\nEXIT", "a branch at 0x0 to no instruction: 0x1230")):
            with self.assertRaisesRegex(Malformed, f"^{said}"):
                program(text)


class Passes(unittest.TestCase):
    def ordinary(self, text, work, through=()):
        found = program(text)
        return addresses(found, found.ordinary(found.loops[0], work, through))

    def test_the_cheapest_way_is_taken(self):
        diamond = "top:\nNOP\n@P0 BRA short\nNOP\nNOP\nBRA end\nshort:\nNOP\nend:\n@P1 BRA top\nEXIT"
        self.assertEqual(self.ordinary(diamond, Work()), [0x0, 0x10, 0x50, 0x60])
        mirrored = "top:\nNOP\n@P0 BRA long\nNOP\nBRA end\nlong:\nNOP\nNOP\nNOP\nend:\n@P1 BRA top\nEXIT"
        self.assertEqual(self.ordinary(mirrored, Work()), [0x0, 0x10, 0x20, 0x30, 0x70])

    def test_the_way_does_the_work(self):
        skipped = "top:\n@P0 BRA end\nLDG.E.64 R2, desc[UR4][R2.64]\nend:\n@P1 BRA top\nEXIT"
        self.assertEqual(self.ordinary(skipped, Work()), [0x0, 0x20])
        self.assertEqual(self.ordinary(skipped, Work(loaded=8)), [0x0, 0x10, 0x20])
        with self.assertRaisesRegex(Malformed, r"^kernel: no pass of the loop at 0x0 does Work\(.*loaded=9"):
            self.ordinary(skipped, Work(loaded=9))

    def test_masks_are_no_items(self):
        with self.assertRaises(Malformed):
            self.ordinary("top:\nLDG.E.U8 R2, desc[UR4][R2.64]\n@P1 BRA top\nEXIT", Work(loaded=1))

    def test_a_load_with_the_branchs_predicate_runs_on_one_side(self):
        text = "top:\n{} LDG.E.128 R4, desc[UR4][R2.64]\n{}@P0 BRA end\nNOP\nend:\n@P1 BRA top\nEXIT"
        taken, fallen = [0x0, 0x10, 0x30], [0x0, 0x10, 0x20, 0x30]
        self.assertEqual(self.ordinary(text.format("@P0", ""), Work(loaded=16)), taken)
        self.assertEqual(self.ordinary(text.format("@!P0", ""), Work(loaded=16)), fallen)
        # Of another predicate, or of one that has changed, nothing is known.
        self.assertEqual(self.ordinary(text.format("@!P2", ""), Work(loaded=16)), taken)
        changed = text.format("@!P0", "ISETP.NE.AND P0, PT, R0, RZ, PT\n")
        self.assertEqual(self.ordinary(changed, Work(loaded=16)), [0x0, 0x10, 0x20, 0x40])

    def test_exponentials_are_known_by_their_shift(self):
        for shift, is_one in (("SHF.L.U32 R1, R2, 0x17, RZ", 1), ("SHF.L.U32 R1, R2.reuse, 0x14, RZ", 1),
                              ("IMAD.SHL.U32 R1, R2, 0x800000, RZ", 1), ("IMAD.SHL.U32 R1, R2, 0x100000, RZ", 1),
                              ("SHF.L.U32 R1, R2, 0x10, RZ", 0), ("IMAD.SHL.U32 R1, R2, 0x8, RZ", 0),
                              ("SHF.R.U32.HI R1, RZ, 0x17, R2", 0)):
            found = program(f"top:\n{shift}\n@P0 BRA top\nEXIT")
            self.assertEqual(found.most(found.loops[0], "exponentials"), is_one, shift)

    def test_loops_inside_cost_nothing_but_are_gone_through_where_asked(self):
        text = "top:\nNOP\n@P0 BRA end\ninner:\nFFMA R0, R0, R1, R2\n@P1 BRA inner\nNOP\nend:\n@P2 BRA top\nEXIT"
        self.assertEqual(self.ordinary(text, Work()), [0x0, 0x10, 0x50])
        found = program(text)
        way = found.ordinary(found.loops[0], Work(), [found.loops[1].header])
        self.assertEqual(addresses(found, way), [0x0, 0x10, 0x40, 0x50])

    def test_the_cheapest_way_goes_around_no_loop(self):
        text = ("top:\n@P0 BRA plain\ninner:\nNOP\nNOP\nNOP\n@P1 BRA inner\nBRA end\nplain:\nNOP\nNOP\nend:\n@P2 BRA top\nEXIT")
        self.assertEqual(self.ordinary(text, Work()), [0x0, 0x50, 0x80])

    def test_the_most_of_a_pass(self):
        text = ("top:\n@P0 BRA b\nLDG.E R2, desc[UR4][R2.64]\nBRA end\nb:\nLDG.E.U16 R2, desc[UR4][R2.64]\nend:\n"
                "STG.E.64 desc[UR4][R2.64], R2\n@P1 BRA top\nEXIT")
        found = program(text)
        self.assertEqual([found.most(found.loops[0], field) for field in ("loaded", "stored")], [4, 8])

    def test_products_are_work(self):
        found = program("top:\nHMMA.16816.F32 R4, R8, R12, R4\nHMMA.16816.F32.BF16 R4, R8, R12, R4\n@P0 BRA top\nEXIT")
        self.assertEqual(found.most(found.loops[0], "flops"), 2 * 2 * 16 * 8 * 16)

    def test_a_pass_of_the_only_block(self):
        found = program("top:\nNOP\n@P0 BRA top\nEXIT")
        self.assertEqual(cheapest_pass(found.blocks, found.loops[0], lambda _: 1, lambda *_: (), ()), [0])


class Rates(unittest.TestCase):
    def clocks(self, text, **how):
        return rates.clocks_of(parsed(assembled("kernel", text), "test")[0].instructions, **how)

    def test_clocks_of_each_pipe(self):
        for text, pipe, clocks in (
                ("FFMA R0, R1, R2, R3", "fma", 0.25), ("HFMA2.MMA R0, R1, R2, R3", "fma", 0.25), ("DFMA R0, R2, R4, R6", "fp64", 0.5),
                ("IMAD.WIDE R0, R1, R2, R3", "imad", 0.5), ("LOP3.LUT R0, R1, R2, RZ, 0xc0, !PT", "alu", 0.5),
                ("MUFU.RCP R0, R1", "xu", 2), ("F2F.F64.F32 R0, R1", "xu", 2), ("I2F.RP R0, R1", "convert", 0.5),
                ("F2FP.BF16.F32.PACK_AB R0, R1, R2", "convert", 0.5), ("SHFL.BFLY PT, R0, R1, 0x1, 0x1f", "shuffle", 1),
                ("LDG.E R0, desc[UR4][R2.64]", "lsu", 1), ("LDG.E.U8 R0, desc[UR4][R2.64]", "lsu", 1),
                ("LDG.E.64 R0, desc[UR4][R2.64]", "lsu", 2), ("STG.E.128 desc[UR4][R2.64], R4", "lsu", 4),
                ("STS.128 [R2], R4", "lsu", 4), ("LDS.128 R4, [R2]", "lsu", 1), ("LDSM.16.M88.4 R4, [R2]", "lsu", 4),
                ("LDSM.16.MT88.2 R4, [R2]", "lsu", 2), ("HMMA.16816.F32 R4, R8, R12, R4", "tensor", 1),
                ("HMMA.1688.F32 R4, R8, R12, R4", "tensor", 0.5)):
            spent = self.clocks(text)
            self.assertEqual(spent[pipe], clocks, text)
            self.assertEqual(spent["issue"], 0.25, text)
            self.assertEqual(len(spent), 2, text)
        self.assertEqual(dict(self.clocks("BRA 0x0")), {"issue": 0.25})
        self.assertEqual(self.clocks("LDG.E.U16 R0, desc[UR4][R2.64]", lines_apart=True)["lsu"], 8)

    def test_rates_agree_with_the_published_peaks(self):
        of_fma = rates.WARP / rates.CLOCKS["fma"] * 2 * rates.MULTIPROCESSORS * rates.CLOCK
        of_fp64 = rates.WARP / rates.CLOCKS["fp64"] * 2 * rates.MULTIPROCESSORS * rates.CLOCK
        of_products = rates.TENSOR_FLOPS_PER_CLOCK * rates.MULTIPROCESSORS * rates.TENSOR_CLOCK
        self.assertEqual([round(peak / 1e11) for peak in (of_fma, of_fp64, of_products)], [669, 335, 9894])
        self.assertEqual(round(rates.memory_clocks(12.817), 3), 1)

    def test_blocks_by_registers(self):
        self.assertEqual([rates.blocks_by_registers(n, 128) for n in (0, 32, 33, 116, 128, 129, 230)], [16, 16, 12, 4, 4, 3, 2])

    def test_an_unknown_instruction_is_refused(self):
        for text, said in (("QQQ.E R0, R1", "an instruction of no known class at 0x0: QQQ.E"),
                           ("HMMA.99 R0, R1", "a product of unknown shape at 0x0: HMMA.99")):
            with self.assertRaisesRegex(Malformed, f"^{said}$"):
                self.clocks(text)


class Names(unittest.TestCase):
    def test_kernels_are_named_as_people_call_them(self):
        prefix = "void softcheck::kernels::(anonymous namespace)::"
        half, arguments = "softcheck::kernels::Half", "softcheck::kernels::RowArguments<softcheck::kernels::CudaBlock<128>, "
        for demangled, name in (
                (f"row_kernel<softcheck::kernels::LogSoftmaxKernel, {arguments}float, float> >({arguments}float, float>)", "log_softmax f32"),
                (f"row_kernel<softcheck::kernels::EntropyKernel, {arguments}{half}, float> >(X)", "entropy f16->f32"),
                (f"row_backward_kernel<softcheck::kernels::BFloat>(softcheck::X)", "adaptive_softmax_backward bf16"),
                (f"mma_attention_kernel<true, 128, {half}, float>(X)", "mma_attention true 128 f16->f32"),
                ("attention_kernel<false, double, double>(X)", "attention false f64")):
            self.assertEqual(short_name(prefix + demangled), name)

    def test_resources_belong_to_their_kernel(self):
        kernels = parsed(assembled(SOFTMAX_F32, SOFTMAX) + assembled(ENTROPY_F16, "EXIT"), "test")
        text = "".join(f" Function {symbol}:\n  REG:{n} STACK:8 SHARED:16 LOCAL:0\n" for symbol, n in ((ENTROPY_F16, 40), (SOFTMAX_F32, 79)))
        add_resources(kernels, text, "test")
        self.assertEqual([(k.name, k.registers, k.stack_bytes, k.static_shared_bytes) for k in kernels],
                         [("softmax f32", 79, 8, 16), ("entropy f16->f32", 40, 8, 16)])
        with self.assertRaisesRegex(Malformed, "^test: no resources of _ZN"):
            add_resources(kernels, "", "test")


class Bounds(unittest.TestCase):
    def bound(self, text, symbol=SOFTMAX_F32):
        return models.bound(parsed(assembled(symbol, text), "test")[0])

    def test_a_kernel_whose_counts_are_known(self):
        one = self.bound(SOFTMAX)
        self.assertEqual([(p.role, p.items, {k: n for k, n in p.counts.items() if n}) for p in one.passes], [
            ("statistics", 4, {"fma": 1, "imad": 2, "alu": 3, "xu": 1, "global": 1, "control": 4}),
            ("results", 4, {"imad": 4, "global": 2, "control": 1})])
        for pipe, clocks in (("issue", (12 + 7) / 4), ("fma", 0.25), ("imad", 3), ("alu", 1.5), ("xu", 2), ("lsu", 12)):
            self.assertEqual(one.clocks[pipe], clocks / (32 * 4), pipe)
        self.assertEqual(one.clocks["memory"], rates.memory_clocks(2 * 4))  # one read, one write
        self.assertEqual((one.binds, one.share, one.of), ("memory", 1, "copy"))

    def test_the_slowest_pipe_binds(self):
        one = self.bound(SOFTMAX.replace("FADD R10, R9, R10", "MUFU.EX2 R9, R9\n" * 63))
        self.assertEqual(one.clocks["xu"], 1)
        self.assertEqual((one.binds, round(one.share, 3)), ("xu", 0.624))

    def test_a_loop_that_is_not_as_the_model_has_it_is_refused(self):
        for change, said in ((("STG.E.128", "STG.E.64"), "softmax f32, results: a pass loads 16 and stores 8 bytes: not 1 and 1 tensors of 4"),
                             (("IMAD.SHL.U32 R8, R5, 0x800000, RZ", "NOP"), "softmax f32: no pass of the loop at 0x140 does Work.exponentials=4"),
                             (("@P3 BRA results", "NOP"), "softmax f32: 1 loops read columns, expected 2")):
            self.assertIn(change[0], SOFTMAX)
            with self.assertRaisesRegex(Malformed, f"^{said}"):
                self.bound(SOFTMAX.replace(*change))
        with self.assertRaisesRegex(Malformed, "^cosine f32: no model of this kernel"):
            self.bound(SOFTMAX, ROWS.format("12CosineKernel", "ff"))

    def test_counts_are_written_and_read(self):
        bounds = [self.bound(SOFTMAX)]
        self.assertEqual(counts.read(counts.written(bounds, "V1"), "test"), ("V1", counts.rows_of(bounds)))

    def test_growth_is_worse(self):
        def changed(old, new):
            worse, better = counts.compared(counts.rows_of([self.bound(SOFTMAX.replace(old, new))]), counts.rows_of([self.bound(SOFTMAX)]))
            return worse, better
        self.assertEqual(changed("FADD R10, R9, R10", "FADD R10, R9, R10\nMUFU.EX2 R9, R9"),
                         (["softmax f32, statistics: 2 xu instructions, recorded 1"], []))
        self.assertEqual(changed("FADD R10, R9, R10", "FADD R10, R9, R10\n" * 2),
                         (["softmax f32, statistics: 2 fma instructions, recorded 1"], []))
        self.assertEqual(changed("    FADD R10, R9, R10\n", ""), ([], ["softmax f32, statistics: 0 fma instructions, recorded 1"]))
        # Only where it is rare: another way through the loop, not the ordinary one.
        self.assertEqual(changed("MUFU.RCP R9, R9", "MUFU.RCP R9, R9\n" * 9), ([], []))
        rows = counts.rows_of([self.bound(SOFTMAX)])
        self.assertEqual(counts.compared(rows, {})[0], ["softmax f32, results: not recorded", "softmax f32, statistics: not recorded"])
        self.assertEqual(counts.compared({}, rows)[0],
                         [f"softmax f32, {role}: recorded, but not there" for role in ("results", "statistics")])

    def test_the_page_keeps_its_prose(self):
        text = f"before\n{page.BEGIN}\nold\n{page.END}\nbehind\n"
        new = page.renewed(text, [self.bound(SOFTMAX)], "test")
        self.assertTrue(new.startswith("before\n") and new.endswith("behind\n") and "old" not in new)
        self.assertIn("| softmax | 100 % memory | - | - | - |", new)
        self.assertIn("| softmax | 4.8 | - | - | - |", new)
        self.assertEqual(page.renewed(new, [self.bound(SOFTMAX)], "test"), new)
        with self.assertRaisesRegex(Malformed, "^test: need one line"):
            page.renewed("no marks", [], "test")


if __name__ == "__main__":
    unittest.main()

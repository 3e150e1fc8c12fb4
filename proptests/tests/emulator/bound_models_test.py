"""The models of attention in kernels/cuda/bound, on machine code that has an attention kernel's loops and nothing else."""

import unittest

from bound_machine_code import assembled

import models
import rates
from sass import Malformed, parsed

PREFIX = "_ZN9softcheck7kernels12_GLOBAL__N_1"
MMA_STATISTICS = PREFIX + "21mma_statistics_kernelILi64ENS0_4HalfEfEEvT0_"
ATTENTION = PREFIX + "16attention_kernelILb0EffEEvT0_"
KEY_BACKWARD = PREFIX + "19key_backward_kernelILb0EfEEvT_"

EXPONENTIAL = "SHF.L.U32 R8, R5, 0x17, RZ\n"
LOAD = "LDG.E R4, desc[UR4][R2.64]\n"
DOT = "{0}:\n" + 16 * LOAD + 16 * "FFMA R4, R4, R5, R6\n" + "@P0 BRA {0}\n"
COLUMNS = "columns:\nLDS.128 R4, [R2]\n" + "".join(f"@!P{i} BRA w{i}\n{LOAD}FADD R4, R4, R5\nw{i}:\n" for i in range(4)) + "@P4 BRA columns\n"
TILES = "query:\nMOV R0, RZ\ntile:\nMOV R1, RZ\n{}@P5 BRA tile\n@P6 BRA query\nEXIT"
PRODUCTS = 2 * "LDG.E.128 R4, desc[UR4][R2.64]\n" + 16 * "HMMA.16816.F32 R4, R8, R12, R4\n" + 16 * EXPONENTIAL


def bound(symbol, text):
    return models.bound(parsed(assembled(symbol, text), "test")[0])


class Models(unittest.TestCase):
    def test_a_tile_of_products(self):
        one = bound(MMA_STATISTICS, TILES.format(PRODUCTS))
        self.assertEqual(one.kernel, "mma_statistics 64 f16->f32")
        # MOV and BRA, two loads, 16 products, 16 shifts.
        self.assertEqual(one.clocks, {"issue": 36 / 4, "alu": 17 / 2, "tensor": 16, "lsu": 8})
        self.assertEqual((one.binds, one.share, one.of), ("tensor", 1, "tensor peak"))
        one = bound(MMA_STATISTICS, TILES.format(PRODUCTS + 64 * "SHFL.BFLY PT, R4, R5, 0x1, 0x1f\n"))
        self.assertEqual((one.binds, one.share), ("shuffle", 16 / 64))

    def test_a_tile_of_other_products_is_refused(self):
        for text in (PRODUCTS.replace("HMMA.16816", "HMMA.1688"), PRODUCTS.replace("E.128", "E.64"), PRODUCTS.replace(EXPONENTIAL, "", 1)):
            with self.assertRaisesRegex(Malformed, "^mma_statistics 64 f16->f32: no pass of the loop"):
                bound(MMA_STATISTICS, TILES.format(text))
        with self.assertRaisesRegex(Malformed, "^mma_statistics 64 f16->f32: 0 loops of products, expected 1"):
            bound(MMA_STATISTICS, TILES.format("NOP\n"))

    def test_a_query_and_its_keys(self):
        one = bound(ATTENTION, TILES.format(DOT.format("dot") + EXPONENTIAL + COLUMNS))
        self.assertEqual([(p.role, p.items, sum(p.counts.values())) for p in one.passes],
                         [("weights and output", 1, 3), ("weights and output: dot", 16, 33), ("weights and output: columns", 4, 14)])
        # A key: a pass of the tile for each of 32 lanes, eight of its dot product, four warps that add it to their columns.
        self.assertEqual(one.clocks["issue"], 3 / 4 / 32 + 33 / 4 * 8 / 32 + 14 / 4)
        # Each lane loads from a key of its own in the dot product, from neighbouring columns later.
        self.assertEqual(one.clocks["lsu"], 16 * 8 * 8 / 32 + 5)
        self.assertEqual(one.clocks["memory"], rates.memory_clocks(2 * 128 * 4))
        self.assertEqual((one.kernel, one.binds, one.share, one.of), ("attention false f32", "memory", 1, "read"))

    def test_a_key_and_its_queries(self):
        one = bound(KEY_BACKWARD, TILES.format(DOT.format("dot") + DOT.format("more") + EXPONENTIAL + COLUMNS))
        self.assertEqual(one.clocks["lsu"], 2 * 16 * 8 * 8 / 32 + 5)
        self.assertNotIn("memory", one.clocks)
        # Two products of 128 columns, at 128 a clock.
        self.assertEqual((one.binds, one.share, one.of), ("lsu", 2 / 69, "fma peak"))

    def test_a_tile_with_other_loops_is_refused(self):
        for text, said in ((DOT.format("dot") + DOT.format("more") + EXPONENTIAL + COLUMNS, "2 dot products and 1 loops"),
                           (DOT.format("dot") + EXPONENTIAL, "1 dot products and 0 loops")):
            with self.assertRaisesRegex(Malformed, f"^attention false f32, weights and output: {said}"):
                bound(ATTENTION, TILES.format(text))
        with self.assertRaisesRegex(Malformed, "^attention false f32: 0 loops over keys, expected 1"):
            bound(ATTENTION, TILES.format(EXPONENTIAL + COLUMNS))


if __name__ == "__main__":
    unittest.main()

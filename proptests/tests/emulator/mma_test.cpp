// mma.sync m16n8k16 on the emulator: fragments laid out as the PTX ISA says, against a plain product.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "kernels/emulator/block.hpp"

namespace softcheck::emulator_tests {
namespace {

using namespace kernels;
using emulator::Block;

// The tables of the PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", in its own words.
int row_of_a(int lane, int i) { return (i >= 0 && i < 2) || (i >= 4 && i < 6) ? lane >> 2 : (lane >> 2) + 8; }
int column_of_a(int lane, int i) { return i < 4 ? (lane % 4) * 2 + (i & 1) : (lane % 4) * 2 + (i & 1) + 8; }
int row_of_b(int lane, int i) { return i < 2 ? (lane % 4) * 2 + (i & 1) : (lane % 4) * 2 + (i & 1) + 8; }
int column_of_b(int lane, int) { return lane >> 2; }
int row_of_c(int lane, int i) { return i < 2 ? lane >> 2 : (lane >> 2) + 8; }
int column_of_c(int lane, int i) { return (lane % 4) * 2 + (i & 1); }

struct Problem {
  std::array<std::array<float, 16>, 16> a;
  std::array<std::array<float, 8>, 16> b;
  std::array<std::array<float, 8>, 16> c;
};

// Small integers: every product and every sum is exact, in any order.
Problem random_problem(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> integer(-9, 9);
  Problem problem;
  for (auto& row : problem.a) {
    for (float& x : row) x = static_cast<float>(integer(random));
  }
  for (auto* matrix : {&problem.b, &problem.c}) {
    for (auto& row : *matrix) {
      for (float& x : row) x = static_cast<float>(integer(random));
    }
  }
  return problem;
}

template <class Element>
class Mma : public testing::Test {};
using Elements = testing::Types<Half, BFloat>;
TYPED_TEST_SUITE(Mma, Elements);

TYPED_TEST(Mma, IsThePlainProductUnderEverySchedule) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Problem problem = random_problem(seed);
    std::array<std::array<float, 8>, 16> d{};
    const auto kernel = [&](Block& block) {
      FragmentA<TypeParam> a;
      FragmentB<TypeParam> b;
      FragmentC c;
      const int lane = block.lane();
      for (int i = 0; i < 8; ++i) a.set(i, narrowed<TypeParam>(problem.a[row_of_a(lane, i)][column_of_a(lane, i)]));
      for (int i = 0; i < 4; ++i) b.set(i, narrowed<TypeParam>(problem.b[row_of_b(lane, i)][column_of_b(lane, i)]));
      for (int i = 0; i < 4; ++i) c.entry[i] = problem.c[row_of_c(lane, i)][column_of_c(lane, i)];
      const FragmentC product = block.mma(a, b, c);
      for (int i = 0; i < 4; ++i) d[row_of_c(lane, i)][column_of_c(lane, i)] = product.entry[i];
    };
    const std::span<std::byte> written = std::as_writable_bytes(std::span(d));
    const emulator::LaunchReport report = emulator::launch_under_all_schedules({1, 32, 0}, {&written, 1}, kernel);
    ASSERT_TRUE(report.clean()) << report.text();
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        float expected = problem.c[row][column];
        for (int k = 0; k < 16; ++k) expected += problem.a[row][k] * problem.b[k][column];
        EXPECT_EQ(d[row][column], expected) << row << ", " << column;
      }
    }
  }
}

TEST(MmaPlaces, AreThoseOfThePtxIsa) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(place_in_a(lane, i).row, row_of_a(lane, i));
      EXPECT_EQ(place_in_a(lane, i).column, column_of_a(lane, i));
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(place_in_b(lane, i).row, row_of_b(lane, i));
      EXPECT_EQ(place_in_b(lane, i).column, column_of_b(lane, i));
      EXPECT_EQ(place_in_c(lane, i).row, row_of_c(lane, i));
      EXPECT_EQ(place_in_c(lane, i).column, column_of_c(lane, i));
    }
  }
}

// The PTX ISA on ldmatrix: thread t holds of each matrix row t / 4, elements 2 (t % 4) and 2 (t % 4) + 1; of .trans, of
// column t / 4.
template <bool transposed>
void expect_parts_of_matrices() {
  // Element (r, c) of matrix m is 64 m + 8 r + c; rows stand 24 elements apart, in no order.
  const auto place = [](int matrix, int row) { return (matrix * 8 + row) * 5 % 32 * 24; };
  std::array<std::array<int, 8>, 32> found{};
  const std::span<std::byte> written = std::as_writable_bytes(std::span(found));
  const auto report = emulator::launch_under_all_schedules({1, 32, 32 * 24 * 2}, {&written, 1}, [&](Block& block) {
    const auto tile = block.shared<Half>(32 * 24);
    const int matrix = block.lane() / 8, row = block.lane() % 8;
    for (int c = 0; c < 8; ++c) {
      tile.store(place(matrix, row) + c, Half{static_cast<std::uint16_t>(64 * matrix + 8 * row + c)});
    }
    block.sync();
    const MatrixParts<Half> parts = block.load_matrices<transposed>(tile, place(matrix, row));
    for (int i = 0; i < 8; ++i) found[block.lane()][i] = parts.get(i).bits;
  });
  EXPECT_TRUE(report.clean()) << report.text();
  for (int t = 0; t < 32; ++t) {
    for (int i = 0; i < 8; ++i) {
      const int along = 2 * (t % 4) + i % 2, across = t / 4;
      EXPECT_EQ(found[t][i], 64 * (i / 2) + (transposed ? 8 * along + across : 8 * across + along));
    }
  }
}

TEST(LoadMatrices, GivesEachLaneItsElements) {
  expect_parts_of_matrices<false>();
  expect_parts_of_matrices<true>();
}

// A tensor core wants the whole warp.
TEST(Mma, ALaneThatStaysAwayIsFound) {
  const auto report = emulator::launch({1, 32, 0}, [](Block& block) {
    if (block.lane() != 7) block.mma(FragmentA<Half>{}, FragmentB<Half>{}, FragmentC{});
  });
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].kind, emulator::FindingKind::divergent_warp);
  EXPECT_NE(report.findings[0].message.find("lane 7: left the kernel"), std::string::npos) << report.text();
}

}  // namespace
}  // namespace softcheck::emulator_tests

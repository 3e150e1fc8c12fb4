// Packed sequences on the emulator: the bits of a call for each, under every schedule, and those of the strict mode;
// nothing beyond the tensors is touched where lengths on a device are wrong. And tensor cores on unrounded problems.
#include <gtest/gtest.h>

#include "kernels/block/attention_backward.hpp"
#include "kernels/block/mma_statistics.hpp"
#include "kernels/block/split_attention.hpp"
#include "kernels/emulator/block.hpp"
#include "proptests/tests/emulator/strict_formats.hpp"
#include "proptests/tests/kernels/packed_problem.hpp"

namespace softcheck::emulator_tests {
namespace {

using kernel_tests::Lengths;
using kernel_tests::PackedShape;

template <class Element>
struct Packed : kernel_tests::PackedProblem<typename Format<Element>::Bits, kernels::Accumulator<Element>> {
  explicit Packed(const PackedShape& shape)
      : Packed::PackedProblem(shape, Format<Element>::type, [](double x) { return rounded_to<Element>(x); }) {}
};

softcheck_kernel kernel_of(const std::string& prefix, const std::string& op) {
  return kernel_tests::load_kernel("softcheck_" + prefix + "_kernels", "softcheck_" + prefix + "_" + op);
}
using kernel_tests::pass_of;

// Sequences without queries, without keys and without either; one with more queries than keys, one of two parts.
const PackedShape ragged{{0, 3, 5, 1, 0, 2}, {7, 2, 130, 0, 0, 270}, 2, 1, 3, 4};
// And one longer than a tile of tensor cores.
const PackedShape tiled{{0, 3, 67, 1, 0, 2}, {7, 2, 20, 0, 0, 40}, 2, 1, 3, 4};
const PackedShape grouped{{2, 1, 3}, {130, 5, 4}, 4, 2, 17, 130};

template <class Element>
void expect_own_bits(const PackedShape& shape, const std::string& op, bool causal) {
  Packed<Element> each(shape), packed(shape);
  EXPECT_TRUE(each.run_each(kernel_of("emulated", op), pass_of(op), causal)) << op;
  EXPECT_TRUE(packed.run(kernel_of("emulated", op + "_varlen"), pass_of(op), causal)) << op;
  EXPECT_TRUE(packed.same_results(each)) << op << ", causal " << causal;
}

template <class Element>
void expect_strict_bits(const PackedShape& shape, const std::string& op, bool causal) {
  Packed<Element> emulated(shape), strict(shape);
  EXPECT_TRUE(emulated.run(kernel_of("emulated", op + "_varlen"), pass_of(op), causal)) << op;
  EXPECT_TRUE(strict.run(kernel_of("strict", op + "_varlen"), pass_of(op), causal)) << op;
  EXPECT_TRUE(strict.same_results(emulated)) << op << ", causal " << causal;
}

const std::string strict_ops[] = {
    "attention",          "adaptive_attention",          "split_attention",     "split_adaptive_attention",
    "attention_backward", "adaptive_attention_backward", "attention_statistics"};
const std::string mma_ops[] = {"mma_attention", "mma_adaptive_attention", "mma_attention_statistics"};

template <class Element>
class PackedAttention : public testing::Test {};
TYPED_TEST_SUITE(PackedAttention, StrictElements);

// Labelled full: PackedAttention*.ASequencesBitsAreThoseOfItsOwnCall
TYPED_TEST(PackedAttention, ASequencesBitsAreThoseOfItsOwnCall) {
  for (const std::string& op : strict_ops) {
    for (const bool causal : {false, true}) expect_own_bits<TypeParam>(ragged, op, causal);
  }
}

TYPED_TEST(PackedAttention, StrictHasTheBitsOfTheEmulatedOne) {
  for (const std::string& op : strict_ops) expect_strict_bits<TypeParam>(grouped, op, true);
}

template <class Element>
class PackedMmaAttention : public testing::Test {};
using Halves = testing::Types<Half, BFloat>;
TYPED_TEST_SUITE(PackedMmaAttention, Halves);

TYPED_TEST(PackedMmaAttention, ASequencesBitsAreThoseOfItsOwnCall) {
  for (const std::string& op : mma_ops) {
    for (const bool causal : {false, true}) expect_own_bits<TypeParam>(tiled, op, causal);
  }
  // Moved 16 bytes at a time.
  expect_own_bits<TypeParam>({tiled.of_queries, tiled.of_keys, 2, 1, 64, 40, 3, 3, 8}, "mma_attention", true);
  // Sequences end where tiles do, and beside it.
  for (const Lengths& queries : {Lengths{64, 64, 1}, Lengths{63, 2, 64}, Lengths{1, 128, 0, 65}}) {
    expect_own_bits<TypeParam>({queries, Lengths(queries.size(), 33), 1, 1, 4, 3}, "mma_attention", true);
  }
}

// A plug-in takes the schedule from the number of keys.
// Labelled full: PackedSchedules.AreCleanAndTheSame
TEST(PackedSchedules, AreCleanAndTheSame) {
  for (const std::int64_t behind : {0, 1, 2, 3}) {
    PackedShape of_blocks = ragged, of_tiles = tiled;
    of_blocks.keys_behind = of_tiles.keys_behind = behind;
    for (const std::string& op : strict_ops) expect_own_bits<float>(of_blocks, op, true);
    for (const std::string& op : mma_ops) expect_own_bits<Half>(of_tiles, op, true);
  }
}

// Of all keys, so many, a part would be longer; and there would be fewer.
TEST(PackedParts, AreThoseOfASequencesOwnKeys) {
  const PackedShape shape{{1, 2}, {300, 700}, 1, 1, 2, 2, 0, 33000};
  for (const std::string op : {"split_attention", "split_adaptive_attention"}) {
    expect_own_bits<float>(shape, op, false);
  }
  expect_own_bits<float>({{2}, {32768}, 1, 1, 1, 1, 0, 300}, "split_attention", false);
}

// As many results as are asked for.
// Labelled full: PackedAttentionResults.AreThoseAskedFor
TEST(PackedAttentionResults, AreThoseAskedFor) {
  for (const std::string& op : strict_ops) {
    for (const std::size_t results : {1, 2, 3}) {
      Packed<float> each(grouped), packed(grouped);
      each.results = packed.results = results;
      EXPECT_TRUE(each.run_each(kernel_of("emulated", op), pass_of(op), false)) << op;
      EXPECT_TRUE(packed.run(kernel_of("emulated", op + "_varlen"), pass_of(op), false)) << op;
      EXPECT_TRUE(packed.same_results(each)) << op << ", results " << results;
    }
  }
}

TEST(PackedLengths, OfEitherWidthAndAnyStrideAreTheSame) {
  for (const std::string& op : {strict_ops[0], strict_ops[4], strict_ops[6]}) {
    const softcheck_kernel kernel = kernel_of("emulated", op + "_varlen");
    Packed<float> each(grouped), wide(grouped), narrow(grouped);
    EXPECT_TRUE(each.run_each(kernel_of("emulated", op), pass_of(op), false));
    EXPECT_TRUE(wide.run(kernel, pass_of(op), wide.query_offsets, wide.key_offsets, false, 3));
    EXPECT_TRUE(narrow.run(kernel, pass_of(op),
                           std::vector<std::int32_t>(wide.query_offsets.begin(), wide.query_offsets.end()),
                           std::vector<std::int32_t>(wide.key_offsets.begin(), wide.key_offsets.end()), false, 2));
    EXPECT_TRUE(wide.same_results(each));
    EXPECT_TRUE(narrow.same_results(each));
  }
}

TEST(PackedLengths, AreRefusedWhereTheyAreWrong) {
  const PackedShape shape{{2, 1}, {3, 2}, 1, 1, 2, 2, 1, 1};
  for (const std::string prefix : {"emulated", "strict"}) {
    for (const std::string& op : strict_ops) {
      const softcheck_kernel kernel = kernel_of(prefix, op + "_varlen");
      Packed<float> packed(shape), untouched(shape);
      const auto taken = [&](const Lengths& of_queries, const Lengths& of_keys) {
        return packed.run(kernel, pass_of(op), of_queries, of_keys, false);
      };
      for (const Lengths& wrong : {Lengths{1, 2, 3}, Lengths{0, 2, 1}, Lengths{0, 2, 9}, Lengths{0, 2}}) {
        EXPECT_FALSE(taken(wrong, {0, 3, 5})) << prefix << ' ' << op;
        EXPECT_FALSE(taken({0, 2, 3}, wrong)) << prefix << ' ' << op;
      }
      EXPECT_TRUE(taken({0}, {0})) << prefix << ' ' << op;
      EXPECT_TRUE(packed.same_results(untouched)) << prefix << ' ' << op;
      EXPECT_TRUE(taken({0, 2, 3}, {0, 3, 5})) << prefix << ' ' << op;
    }
  }
}

using emulator_block = kernels::emulator::Block;

// Lengths on a device, as no host looks at them.
struct UnseenLengths {
  static constexpr std::int64_t queries = 70, keys = 40;

  UnseenLengths(Lengths of_queries, Lengths of_keys)
      : query_offsets(std::move(of_queries)),
        key_offsets(std::move(of_keys)),
        numbers(static_cast<std::size_t>(queries), Half{0x3c00}),
        results(numbers),
        kept(static_cast<std::size_t>(queries)),
        statistics(static_cast<std::size_t>(queries)),
        states(static_cast<std::size_t>(queries)),
        columns(static_cast<std::size_t>(queries)) {
    using Block = emulator_block;
    const std::vector<Half>& read = numbers;
    arguments.q.elements = std::span(read);
    arguments.k.elements = std::span(read).first(keys);
    arguments.v = arguments.k;
    arguments.out.elements = std::span(results);
    for (auto* tensor : {&arguments.q, &arguments.k, &arguments.v}) tensor->strides[2] = 1;
    arguments.out.strides[2] = 1;
    arguments.batch = arguments.heads = arguments.key_heads = 1;
    arguments.queries = queries;
    arguments.keys = keys;
    arguments.dim = arguments.value_dim = 1;
    arguments.sequences = static_cast<std::int64_t>(query_offsets.size()) - 1;
    using Ends = kernels::SequenceOffsets<Block>::Global<const std::int64_t>;
    const Lengths &q_ends = query_offsets, &k_ends = key_offsets;
    arguments.query_offsets.wide = Ends(std::span(q_ends));
    arguments.key_offsets.wide = Ends(std::span(k_ends));
  }

  void expect_inside() {
    using Block = emulator_block;
    const std::size_t bytes = kernels::attention_bytes<float>(1);
    ASSERT_NO_FATAL_FAILURE(
        expect_inside(bytes, [&](Block& block) { kernels::attention_body<true>(block, arguments); }));
    ASSERT_NO_FATAL_FAILURE(expect_inside(
        kernels::mma_bytes<64, Half>, [&](Block& block) { kernels::mma_attention_body<true, 64>(block, arguments); }));
    kernels::AttentionStatisticsArguments<Block, Half, Half> of_scores;
    of_scores.forward = arguments;
    for (auto& result : of_scores.results) result = arguments.out;
    ASSERT_NO_FATAL_FAILURE(expect_inside(kernels::mma_statistics_bytes<64, Half>,
                                          [&](Block& block) { kernels::mma_statistics_body<64>(block, of_scores); }));
    ASSERT_NO_FATAL_FAILURE(expect_inside(kernels::attention_statistics_bytes<float>(1),
                                          [&](Block& block) { kernels::attention_statistics_body(block, of_scores); }));
    kernels::SplitArguments<Block, Half, Half> split;
    split.forward = arguments;
    split.statistics = std::span(statistics);
    split.states = std::span(states);
    split.columns = std::span(columns);
    ASSERT_NO_FATAL_FAILURE(expect_inside(bytes, [&](Block& block) { kernels::part_statistics_body(block, split); }));
    ASSERT_NO_FATAL_FAILURE(
        expect_inside(bytes, [&](Block& block) { kernels::part_attention_body<true>(block, split); }));
    ASSERT_NO_FATAL_FAILURE(expect_inside(bytes, [&](Block& block) { kernels::merge_parts_body<true>(block, split); }));
    kernels::GradientArguments<Block, Half> gradient;
    gradient.forward = arguments;
    gradient.d_out = arguments.q;
    gradient.dq = gradient.dk = gradient.dv = arguments.out;
    gradient.queries = std::span(kept);
    const std::size_t of_gradient = kernels::gradient_bytes<float>(1, 1);
    ASSERT_NO_FATAL_FAILURE(
        expect_inside(of_gradient, [&](Block& block) { kernels::query_backward_body<true>(block, gradient); }));
    gradient.dv = {};
    ASSERT_NO_FATAL_FAILURE(
        expect_inside(of_gradient, [&](Block& block) { kernels::key_backward_body<true>(block, gradient); }));
  }

  static void expect_inside(std::size_t bytes, const kernels::emulator::Kernel& kernel) {
    const auto report = kernels::emulator::launch({2, kernels::attention_threads, bytes}, kernel, {});
    // Sequences that overlap are written twice: races are what wrong lengths bring.
    for (const kernels::emulator::Finding& finding : report.findings) {
      ASSERT_EQ(finding.kind, kernels::emulator::FindingKind::global_race) << report.text();
    }
  }

  Lengths query_offsets, key_offsets;
  std::vector<Half> numbers, results;
  std::vector<kernels::QueryGradient<float>> kept;
  std::vector<kernels::RowStatistics<float>> statistics;
  std::vector<kernels::PartState<float>> states;
  std::vector<kernels::CompensatedSum<float>> columns;
  kernels::AttentionArguments<emulator_block, Half, Half> arguments;
};

TEST(PackedLengths, LeadNowhereBeyondTheTensorsEvenUnseen) {
  const std::int64_t far = std::int64_t{1} << 62;
  for (const auto& [of_queries, of_keys] : {std::pair<Lengths, Lengths>{{0, 3, 70}, {0, 30, 40}},
                                            {{-9, 100, 120}, {-1, 41, 1000}},
                                            {{50, 10, 90}, {35, -8, 90}},
                                            {{far, far, -far}, {far, -far, far}},
                                            {{-far, 60, far}, {-far, far, far}}}) {
    ASSERT_NO_FATAL_FAILURE(UnseenLengths(of_queries, of_keys).expect_inside());
  }
}

// Attention by tensor cores on the emulator where nothing is rounded: each query scores one key 512 above the others,
// so that its output is that key's value, bit for bit, wherever queries, keys and columns stand in their tiles.

using kernel_tests::Tensor;
using Bits = std::uint16_t;

constexpr std::int64_t queries = 70, keys = 75;

/// offset: elements before the first one, odd ones where 16 bytes cannot be moved at once. step: from row to row, NaN
/// in between.
template <class Element>
struct Choice {
  static constexpr DLDataType type = Format<Element>::type;
  static constexpr Bits nan = 0x7fff;  // of both formats

  Choice(std::int64_t head_size, std::int64_t value_size, std::size_t offset, std::int64_t step)
      : dim(head_size),
        value_dim(value_size),
        q(type, {1, 1, queries, dim}, {1, 1, step, 1}, offset, nan),
        k(type, {1, 1, keys, dim}, {1, 1, step, 1}, offset, nan),
        v(type, {1, 1, keys, value_dim}, {1, 1, step, 1}, offset, nan),
        mask(kernel_tests::mask_type, {1, 1, queries, keys}, {}, 0, 1),
        out(type, {1, 1, queries, value_dim}) {
    for (std::int64_t i = 0; i < std::max(queries, keys); ++i) {
      for (std::int64_t c = 0; c < dim; ++c) {
        if (i < queries) at(q, i, c) = 0;
        if (i < keys) at(k, i, c) = 0;
      }
    }
    for (std::int64_t j = 0; j < keys; ++j) {
      // Keys that are alike in one dimension differ in their sign in another one.
      at(k, j, j % (dim - 1)) = rounded_to<Element>(32);
      at(k, j, dim - 1) = rounded_to<Element>(j < dim - 1 ? 32 : -32);
      for (std::int64_t c = 0; c < value_dim; ++c) {
        at(v, j, c) = rounded_to<Element>(static_cast<double>((j * 131 + c * 7) % 251 - 125));
      }
    }
    for (std::int64_t i = 0; i < queries; ++i) {
      at(q, i, chosen(i) % (dim - 1)) = rounded_to<Element>(32);
      at(q, i, dim - 1) = rounded_to<Element>(chosen(i) < dim - 1 ? 16 : -16);
    }
  }

  static std::int64_t chosen(std::int64_t query) { return (query * 29 + 3) % keys; }
  Bits& at(Tensor<Bits>& tensor, std::int64_t row, std::int64_t column) const {
    const std::int64_t step = tensor.strides.empty() ? tensor.shape[3] : tensor.strides[2];
    return tensor.elements[tensor.first + static_cast<std::size_t>(row * step + column)];
  }

  bool run(const std::string& op, bool masked) {
    std::vector<const DLTensor*> inputs = {&q.view, &k.view, &v.view};
    if (masked) inputs.push_back(&mask.view);
    std::ranges::fill(out.elements, Bits{1});
    const softcheck_kernel kernel = kernel_tests::load_kernel("softcheck_emulated_kernels", "softcheck_emulated_" + op);
    return kernel_tests::takes_call(kernel, inputs, {&out.view}, 1, false);
  }

  /// Columns of a query that are not those of the key chosen; nan_column: a column that must be NaN, or none.
  std::int64_t wrong(std::int64_t query, std::int64_t nan_column = -1) {
    std::int64_t count = 0;
    for (std::int64_t c = 0; c < value_dim; ++c) {
      const Bits found = at(out, query, c);
      const bool right =
          c == nan_column ? std::isnan(kernels::widened(Element{found})) : found == at(v, chosen(query), c);
      count += right ? 0 : 1;
    }
    return count;
  }

  std::int64_t dim, value_dim;
  Tensor<Bits> q, k, v;
  Tensor<std::uint8_t> mask;
  Tensor<Bits> out;
};

template <class Element>
class MmaAttention : public testing::Test {};
using Halves = testing::Types<Half, BFloat>;
TYPED_TEST_SUITE(MmaAttention, Halves);

// Tiles of both widths, moved 16 bytes at a time and element by element.
TYPED_TEST(MmaAttention, GivesTheValueOfTheKeyThatEachQueryChooses) {
  for (const std::string op : {"mma_attention", "mma_adaptive_attention"}) {
    struct Layout {
      std::int64_t dim, value_dim;
      std::size_t offset;
      std::int64_t step;
    };
    for (const auto& [dim, value_dim, offset, step] : {Layout{64, 64, 0, 64},
                                                       {64, 40, 8, 72},
                                                       {64, 64, 3, 64},
                                                       {59, 61, 0, 64},
                                                       {59, 61, 0, 61},
                                                       {128, 128, 0, 128},
                                                       {120, 72, 0, 120},
                                                       {128, 128, 1, 128},
                                                       {100, 90, 0, 104}}) {
      Choice<TypeParam> choice(dim, value_dim, offset, step);
      ASSERT_TRUE(choice.run(op, false));
      for (std::int64_t i = 0; i < queries; ++i) {
        ASSERT_EQ(choice.wrong(i), 0) << op << ", dim " << dim << ", " << value_dim << ", offset " << offset
                                      << ", step " << step << ", query " << i;
      }
    }
  }
}

// A value that is NaN or infinite, in each place of a tile by turns: a query that sees it gets NaN, another nothing.
TYPED_TEST(MmaAttention, NanAndInfiniteValuesReachOnlyQueriesThatSeeThem) {
  const Bits bad[] = {rounded_to<TypeParam>(INFINITY), rounded_to<TypeParam>(-INFINITY),
                      rounded_to<TypeParam>(std::nan(""))};
  for (const std::int64_t key : {0, 9, 31, 32, 50, 74}) {
    Choice<TypeParam> choice(64, 64, 0, 64);
    const std::int64_t column = key * 5 % 64;
    choice.at(choice.v, key, column) = bad[key % 3];
    for (std::int64_t i = 0; i < queries; ++i) {
      const bool hidden = i % 3 == 0 && choice.chosen(i) != key;
      choice.mask.elements[static_cast<std::size_t>(i * keys + key)] = hidden ? 0 : 1;
    }
    ASSERT_TRUE(choice.run("mma_attention", true));
    for (std::int64_t i = 0; i < queries; ++i) {
      const bool hidden = choice.mask.elements[static_cast<std::size_t>(i * keys + key)] == 0;
      ASSERT_EQ(choice.wrong(i, hidden ? -1 : column), 0) << "key " << key << ", query " << i;
    }
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests

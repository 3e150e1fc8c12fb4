// Attention by tensor cores on the emulator where nothing is rounded: each query scores one key 512 above the others,
// so that its output is that key's value, bit for bit, wherever queries, keys and columns stand in their tiles.
#include <gtest/gtest.h>

#include "proptests/tests/emulator/strict_formats.hpp"

namespace softcheck::emulator_tests {
namespace {

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

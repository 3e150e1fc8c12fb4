// The strict mode: the CPU's attention kernels of kernels/strict have the bits of the emulated ones, on every
// instruction set (the suite runs again with SOFTCHECK_MAX_ISA).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "proptests/tests/emulator/strict_formats.hpp"

namespace softcheck::emulator_tests {
namespace {

using kernel_tests::Tensor;

struct Shape {
  std::int64_t batch, heads, key_heads, queries, keys, dim, value_dim;
};

enum class Values { ordinary, sharp, hidden_nan, seen_nan, infinite };

template <class Element>
struct AttentionProblem {
  using Bits = typename Format<Element>::Bits;
  static constexpr DLDataType type = Format<Element>::type;

  AttentionProblem(const Shape& s, Values kind)
      : shape(s),
        q(type, {s.batch, s.heads, s.queries, s.dim}),
        k(type, {s.batch, s.key_heads, s.keys, s.dim}),
        // Room between the rows.
        v(type, {s.batch, s.key_heads, s.keys, s.value_dim},
          {s.key_heads * s.keys * (s.value_dim + 3), s.keys * (s.value_dim + 3), s.value_dim + 3, 1}, 2),
        mask(kernel_tests::mask_type, {s.batch, s.heads, s.queries, s.keys}) {
    std::mt19937 random(static_cast<unsigned>(s.keys * 8) + static_cast<unsigned>(kind));
    std::normal_distribution<double> normal(0, kind == Values::sharp ? 6 : 1);
    for (Tensor<Bits>* tensor : {&q, &k, &v}) {
      for (Bits& x : tensor->elements) x = rounded_to<Element>(normal(random));
    }
    for (std::uint8_t& visible : mask.elements) visible = random() % 4 != 0;
    spoil(kind);
  }

  // Query 0 of head 0 sees nothing; a value that is NaN or infinite stands at key 1, hidden or not.
  void spoil(Values kind) {
    const auto keys = static_cast<std::size_t>(shape.keys);
    std::fill_n(mask.elements.begin(), keys, std::uint8_t{0});
    if (shape.keys < 2 || kind == Values::ordinary || kind == Values::sharp) return;
    for (std::size_t row = 0; row < mask.elements.size() / keys; ++row) {
      if (row > 0) mask.elements[row * keys + 1] = kind != Values::hidden_nan;
    }
    const Bits bad = rounded_to<Element>(kind == Values::infinite ? INFINITY : std::nan(""));
    v.elements[v.first + static_cast<std::size_t>(v.strides[2])] = bad;
    if (kind == Values::hidden_nan) k.elements[static_cast<std::size_t>(shape.dim)] = bad;
  }

  /// out, lse and entropy, one after the other; NaN as one NaN.
  template <class Wide>
  std::vector<double> results(const std::string& prefix, const std::string& op, DLDataType wide, bool masked,
                              bool causal) {
    Tensor<Bits> out(type, {shape.batch, shape.heads, shape.queries, shape.value_dim});
    Tensor<Wide> lse(wide, {shape.batch, shape.heads, shape.queries});
    Tensor<Wide> entropy(wide, {shape.batch, shape.heads, shape.queries});
    const DLTensor* inputs[] = {&q.view, &k.view, &v.view, &mask.view};
    DLTensor* outputs[] = {&out.view, &lse.view, &entropy.view};
    const softcheck_call call{
        SOFTCHECK_KERNEL_ABI_VERSION, masked ? 4U : 3U, 3, inputs, outputs, 1.0, 0.3, causal, nullptr};
    const softcheck_kernel kernel =
        kernel_tests::load_kernel("softcheck_" + prefix + "_kernels", "softcheck_" + prefix + "_" + op);
    if (kernel == nullptr || kernel(&call) != 0)
      ADD_FAILURE() << prefix << ' ' << op << " is missing or refused a call";
    std::vector<double> all;
    for (const Bits x : out.elements) all.push_back(value(x));
    for (const Wide x : lse.elements) all.push_back(value(x));
    for (const Wide x : entropy.elements) all.push_back(value(x));
    return all;
  }

  // Exactly; a NaN without its payload, which is the machine's.
  template <class X>
  static double value(X x) {
    double wide = 0;
    if constexpr (std::is_same_v<X, std::uint16_t>) {
      wide = kernels::widened(Element{x});
    } else {
      wide = x;
    }
    return std::isnan(wide) ? std::numeric_limits<double>::quiet_NaN() : wide;
  }

  Shape shape;
  Tensor<Bits> q, k, v;
  Tensor<std::uint8_t> mask;
};

template <class Element>
class StrictAttention : public testing::Test {
 protected:
  static void expect_same(const Shape& shape, Values kind, bool masked, bool causal) {
    using Wide = kernels::Accumulator<Element>;
    AttentionProblem<Element> problem(shape, kind);
    for (const char* op : {"attention", "adaptive_attention"}) {
      constexpr DLDataType wide = {kDLFloat, 8 * sizeof(Wide), 1};
      EXPECT_TRUE(kernel_tests::same_bits(problem.template results<Wide>("emulated", op, wide, masked, causal),
                                          problem.template results<Wide>("strict", op, wide, masked, causal)))
          << op << ", values of kind " << static_cast<int>(kind) << ", " << shape.queries << " queries, " << shape.keys
          << " keys, dim " << shape.dim << ", " << shape.value_dim << ", masked " << masked << ", causal " << causal;
    }
  }
};
TYPED_TEST_SUITE(StrictAttention, StrictElements);

TYPED_TEST(StrictAttention, HasTheBitsOfTheEmulatedOneForEveryNumberOfKeys) {
  for (const std::int64_t keys : {0, 1, 2, 3, 5, 127, 128, 129, 300, 511, 513, 700}) {
    this->expect_same({1, 1, 1, 1, keys, 4, 3}, Values::ordinary, false, false);
    this->expect_same({1, 1, 1, 2, keys, 3, 5}, Values::sharp, keys > 0, false);
  }
}

TYPED_TEST(StrictAttention, HasTheBitsOfTheEmulatedOneInEveryCall) {
  for (const Values kind : {Values::ordinary, Values::sharp, Values::hidden_nan, Values::seen_nan, Values::infinite}) {
    for (const bool masked : {false, true}) {
      for (const bool causal : {false, true}) this->expect_same({2, 2, 1, 19, 140, 5, 7}, kind, masked, causal);
    }
  }
}

TYPED_TEST(StrictAttention, HasTheBitsOfTheEmulatedOneForEveryHead) {
  for (const std::int64_t dim : {1, 17, 64, 128}) {
    this->expect_same({1, 4, 2, 2, 133, dim, 130 - dim / 2}, Values::ordinary, true, true);
  }
  this->expect_same({1, 1, 1, 1, 130, 2, 256}, Values::sharp, false, false);
  // More queries than keys: the first see none.
  this->expect_same({1, 1, 1, 9, 4, 3, 2}, Values::ordinary, false, true);
}

}  // namespace
}  // namespace softcheck::emulator_tests

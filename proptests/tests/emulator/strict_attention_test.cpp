// The strict mode: the CPU's attention kernels of kernels/strict, forward, by parts of the keys and backward, have the
// bits of the emulated ones, on every instruction set (the suite runs again with SOFTCHECK_MAX_ISA).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "proptests/tests/emulator/strict_formats.hpp"

namespace softcheck::emulator_tests {
namespace {

using kernel_tests::Tensor;

struct Shape {
  std::int64_t batch, heads, key_heads, queries, keys, dim, value_dim;
};

/// wide: values and d_out of very different sizes. cancelling: of three sizes, so far apart that what is left of their
/// sums is what the order of the additions left.
enum class Values { cancelling, ordinary, sharp, wide, hidden_nan, seen_nan, infinite, infinite_score };
constexpr Values all_values[] = {Values::ordinary, Values::sharp,    Values::wide,          Values::hidden_nan,
                                 Values::seen_nan, Values::infinite, Values::infinite_score};

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
        // And between the columns.
        d_out(type, {s.batch, s.heads, s.queries, s.value_dim},
              {s.heads * s.queries * 2 * s.value_dim, s.queries * 2 * s.value_dim, 2 * s.value_dim, 2}),
        mask(kernel_tests::mask_type, {s.batch, s.heads, s.queries, s.keys}) {
    std::mt19937 random(static_cast<unsigned>(s.keys * 8) + static_cast<unsigned>(kind));
    std::normal_distribution<double> normal(0, kind == Values::sharp ? 6 : 1);
    for (Tensor<Bits>* tensor : {&q, &k, &v, &d_out}) {
      const bool spread = kind == Values::wide && (tensor == &v || tensor == &d_out);
      for (Bits& x : tensor->elements) {
        const int exponent = spread ? static_cast<int>(random() % 21) - 10 : 0;
        x = rounded_to<Element>(std::ldexp(normal(random), exponent));
      }
    }
    for (std::uint8_t& visible : mask.elements) visible = random() % 4 != 0;
    add_special_values(kind);
    if (kind == Values::cancelling) cancel();
  }

  // Keys are all alike, so that their weights are; a row of v and of d_out is large, smaller or small, and of the first
  // two there is the opposite half of all rows later, the query of which is the same.
  void cancel() {
    const auto row_of = [](Tensor<Bits>& tensor, std::int64_t head, std::int64_t i) {
      const std::int64_t compact = tensor.shape[3];
      const std::int64_t step = tensor.strides.empty() ? compact : tensor.strides[2];
      return tensor.elements.data() + tensor.first + (head * tensor.shape[2] + i) * step;
    };
    for (Tensor<Bits>* tensor : {&v, &d_out}) {
      const std::int64_t rows = tensor->shape[2], half = rows / 2, step = tensor == &d_out ? 2 : 1;
      for (std::int64_t head = 0; head < tensor->shape[0] * tensor->shape[1]; ++head) {
        for (std::int64_t i = 0; i < 2 * half; ++i) {
          Bits* row = row_of(*tensor, head, i);
          for (std::int64_t c = 0; c < shape.value_dim; ++c) {
            const double own = std::ldexp(value(row[c * step]), size_of(i % half));
            const bool opposite = i >= half && (i - half) % 3 != 0;
            row[c * step] = opposite ? rounded_to<Element>(-value(row_of(*tensor, head, i - half)[c * step]))
                                     : rounded_to<Element>(own);
          }
        }
      }
    }
    for (std::int64_t head = 0; head < shape.batch * shape.key_heads; ++head) {
      for (std::int64_t i = 1; i < shape.keys; ++i) std::copy_n(row_of(k, head, 0), shape.dim, row_of(k, head, i));
    }
    const std::int64_t half = shape.queries / 2;
    for (std::int64_t head = 0; head < shape.batch * shape.heads; ++head) {
      for (std::int64_t i = half; i < 2 * half; ++i)
        std::copy_n(row_of(q, head, i - half), shape.dim, row_of(q, head, i));
    }
  }

  // A large number's last bit is above a smaller one's; what a sum rounds away of those, above a small one's.
  static int size_of(std::int64_t row) {
    if constexpr (std::is_same_v<Element, Half>) return row % 3 == 0 ? -5 : row % 3 == 1 ? 10 : 4;
    constexpr int digits = std::numeric_limits<kernels::Accumulator<Element>>::digits;
    return row % 3 == 0 ? -2 * digits / 5 : row % 3 == 1 ? 8 * digits / 5 : 3 * digits / 5;
  }

  // Query 0 of head 0 sees nothing; a value that is NaN or infinite stands at key 1, hidden or not, or a score of +inf
  // and -inf does.
  void add_special_values(Values kind) {
    const auto keys = static_cast<std::size_t>(shape.keys);
    std::fill_n(mask.elements.begin(), keys, std::uint8_t{0});
    if (shape.keys < 2 || kind < Values::hidden_nan) return;
    for (std::size_t row = 0; row < mask.elements.size() / keys; ++row) {
      if (row > 0) mask.elements[row * keys + 1] = kind != Values::hidden_nan;
    }
    const Bits nan = rounded_to<Element>(std::nan("")), infinity = rounded_to<Element>(INFINITY);
    Bits& key = k.elements[static_cast<std::size_t>(shape.dim)];
    if (kind == Values::infinite_score) {
      key = infinity;
      return;
    }
    v.elements[v.first + static_cast<std::size_t>(v.strides[2])] = kind == Values::infinite ? infinity : nan;
    if (kind == Values::hidden_nan) key = nan;
  }

  /// lse, entropy, the largest score and out, one after the other; NaN as one NaN.
  std::vector<double> results(const std::string& prefix, const std::string& op, bool masked, bool causal) {
    Tensor<Bits> out(type, {shape.batch, shape.heads, shape.queries, shape.value_dim});
    std::vector<double> rows =
        numbers_of_queries(prefix, op, {&q.view, &k.view, &v.view}, {&out.view}, 3, masked, causal);
    append(out.elements, rows);
    return rows;
  }

  /// m, S - 1, T and U of the scores, one after the other.
  std::vector<double> statistics(const std::string& prefix, bool masked, bool causal) {
    return numbers_of_queries(prefix, "attention_statistics", {&q.view, &k.view}, {}, 4, masked, causal);
  }

  /// dq, dk and dv, the first so many of them.
  std::vector<double> gradients(const std::string& prefix, const std::string& op, bool masked, bool causal,
                                std::size_t count = 3) {
    Tensor<Bits> dq(type, q.shape), dk(type, k.shape), dv(type, v.shape, v.strides, v.first);
    std::vector<DLTensor*> outputs = {&dq.view, &dk.view, &dv.view};
    outputs.resize(count);
    call(prefix, op, {&q.view, &k.view, &v.view, &d_out.view}, outputs, masked, causal);
    std::vector<double> all;
    append(dq.elements, all);
    append(dk.elements, all);
    append(dv.elements, all);
    return all;
  }

  /// Of a call with so many results of one number a query behind others.
  std::vector<double> numbers_of_queries(const std::string& prefix, const std::string& op,
                                         const std::vector<const DLTensor*>& inputs, std::vector<DLTensor*> outputs,
                                         std::size_t count, bool masked, bool causal) {
    using Wide = kernels::Accumulator<Element>;
    std::deque<Tensor<Wide>> rows;
    while (rows.size() < count) {
      rows.emplace_back(kernel_tests::dtype_of<Wide>(), std::vector{shape.batch, shape.heads, shape.queries});
      outputs.push_back(&rows.back().view);
    }
    call(prefix, op, inputs, outputs, masked, causal);
    std::vector<double> all;
    for (const Tensor<Wide>& row : rows) append(row.elements, all);
    return all;
  }

  void call(const std::string& prefix, const std::string& op, std::vector<const DLTensor*> inputs,
            const std::vector<DLTensor*>& outputs, bool masked, bool causal) {
    if (masked) inputs.push_back(&mask.view);
    const softcheck_kernel kernel =
        kernel_tests::load_kernel("softcheck_" + prefix + "_kernels", "softcheck_" + prefix + "_" + op);
    if (!kernel_tests::takes_call(kernel, inputs, outputs, 0.3, causal)) {
      ADD_FAILURE() << prefix << ' ' << op << " is missing or refused a call";
    }
  }

  template <class X>
  static void append(const std::vector<X>& elements, std::vector<double>& to) {
    for (const X x : elements) to.push_back(value(x));
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
  Tensor<Bits> q, k, v, d_out;
  Tensor<std::uint8_t> mask;
};

template <class Element>
class StrictAttention : public testing::Test {
 protected:
  using Problem = AttentionProblem<Element>;

  static std::string text(const std::string& op, const Shape& shape, Values kind, bool masked, bool causal) {
    std::ostringstream all;
    all << op << ", values of kind " << static_cast<int>(kind) << ", " << shape.queries << " queries, " << shape.keys
        << " keys, dim " << shape.dim << ", " << shape.value_dim << ", masked " << masked << ", causal " << causal;
    return all.str();
  }
  static void expect_same(const Shape& shape, Values kind, bool masked, bool causal, const std::string& prefix = "") {
    Problem problem(shape, kind);
    for (const char* name : {"attention", "adaptive_attention"}) {
      const std::string op = prefix + name;
      EXPECT_TRUE(kernel_tests::same_bits(problem.results("emulated", op, masked, causal),
                                          problem.results("strict", op, masked, causal)))
          << text(op, shape, kind, masked, causal);
    }
    if (prefix.empty()) {
      EXPECT_TRUE(kernel_tests::same_bits(problem.statistics("emulated", masked, causal),
                                          problem.statistics("strict", masked, causal)))
          << text("attention_statistics", shape, kind, masked, causal);
    }
  }
  static void expect_same_gradients(const Shape& shape, Values kind, bool masked, bool causal) {
    Problem problem(shape, kind);
    for (const char* op : {"attention_backward", "adaptive_attention_backward"}) {
      EXPECT_TRUE(kernel_tests::same_bits(problem.gradients("emulated", op, masked, causal),
                                          problem.gradients("strict", op, masked, causal)))
          << text(op, shape, kind, masked, causal);
    }
  }
};
TYPED_TEST_SUITE(StrictAttention, StrictElements);

// Labelled full: StrictAttention*
// Halves are f32 between conversions, which StrictFormats compares: every run tries their heads and their orders of
// sums.
//
// Labelled deep: StrictAttention/2.*InEveryCall:StrictAttention/3.*InEveryCall
//
// Labelled deep: StrictAttention/2.*ForEveryNumberOfKeys:StrictAttention/3.*ForEveryNumberOfKeys
TYPED_TEST(StrictAttention, HasTheBitsOfTheEmulatedOneForEveryNumberOfKeys) {
  for (const std::int64_t keys : {0, 1, 2, 3, 5, 127, 128, 129, 300, 511, 513, 700}) {
    this->expect_same({1, 1, 1, 1, keys, 4, 3}, Values::ordinary, false, false);
    this->expect_same({1, 1, 1, 2, keys, 3, 5}, Values::sharp, keys > 0, false);
  }
}

TYPED_TEST(StrictAttention, HasTheBitsOfTheEmulatedOneInEveryCall) {
  for (const Values kind : all_values) {
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

// Sums are compensated: their order shows where hardly anything is left of them. The threads' tree, the order of keys,
// parts, queries and of the heads of a group.
TYPED_TEST(StrictAttention, AddsInTheOrderOfTheEmulatedOne) {
  for (const std::int64_t keys : {127, 300, 700}) {
    for (const char* prefix : {"", "split_"})
      this->expect_same({1, 1, 1, 1, keys, 2, 5}, Values::cancelling, false, false, prefix);
    this->expect_same_gradients({1, 1, 1, 1, keys, 2, 5}, Values::cancelling, false, false);
  }
  this->expect_same_gradients({1, 4, 2, 23, 20, 3, 3}, Values::cancelling, false, false);
}

// Parts of 256 keys, one to three of them, and of more where there would be too many.
TYPED_TEST(StrictAttention, ByPartsHasTheBitsOfTheEmulatedOneForEveryNumberOfKeys) {
  for (const std::int64_t keys : {0, 1, 255, 256, 257, 700}) {
    this->expect_same({1, 1, 1, 1, keys, 4, 3}, Values::wide, false, false, "split_");
  }
  // So many that a thread of a block for all keys would have several groups: the statistics' tree is another one. Of
  // scores that give an entropy at which beta is not 1.
  this->expect_same({1, 1, 1, 6, 700, 30, 1}, Values::ordinary, false, false, "split_");
  this->expect_same({1, 1, 1, 1, 33000, 1, 2}, Values::sharp, true, false, "split_");
}

TYPED_TEST(StrictAttention, ByPartsHasTheBitsOfTheEmulatedOneInEveryCall) {
  for (const Values kind : all_values) {
    for (const bool masked : {false, true}) {
      // The diagonal ends within the first part, or within the last.
      this->expect_same({1, 1, 1, 3, 270, 2, 130}, kind, masked, true, "split_");
      this->expect_same({2, 2, 1, 2, 300, 5, 7}, kind, masked, false, "split_");
    }
  }
  this->expect_same({1, 1, 1, 300, 290, 1, 1}, Values::sharp, false, true, "split_");
}

TYPED_TEST(StrictAttention, BackwardHasTheBitsOfTheEmulatedOneForEveryNumberOfKeys) {
  for (const std::int64_t keys : {0, 1, 2, 3, 127, 128, 129, 300, 513}) {
    this->expect_same_gradients({1, 1, 1, 1, keys, 4, 3}, Values::wide, false, false);
    this->expect_same_gradients({1, 1, 1, 2, keys, 3, 5}, Values::sharp, keys > 0, false);
  }
}

// More than a tile of queries, more than a tile and a block of keys; and the other way round.
TYPED_TEST(StrictAttention, BackwardHasTheBitsOfTheEmulatedOneInEveryCall) {
  for (const Values kind : all_values) {
    for (const bool masked : {false, true}) {
      this->expect_same_gradients({1, 2, 1, 17, 130, 3, 2}, kind, masked, kind == Values::wide || !masked);
    }
  }
  for (const bool causal : {false, true})
    this->expect_same_gradients({2, 2, 1, 130, 5, 2, 3}, Values::wide, true, causal);
}

TYPED_TEST(StrictAttention, BackwardHasTheBitsOfTheEmulatedOneForEveryHead) {
  for (const std::int64_t dim : {1, 17, 64, 128}) {
    this->expect_same_gradients({1, 4, 2, 2, 20, dim, 130 - dim / 2}, Values::wide, true, true);
  }
  this->expect_same_gradients({1, 1, 1, 2, 20, 256, 200}, Values::sharp, false, false);
}

// As many of dq, dk and dv as are asked for: those that are not stay as they were.
TYPED_TEST(StrictAttention, BackwardGivesWhatIsAskedFor) {
  AttentionProblem<TypeParam> problem({1, 2, 1, 3, 20, 4, 3}, Values::ordinary);
  for (const std::size_t count : {1, 2}) {
    EXPECT_TRUE(kernel_tests::same_bits(problem.gradients("emulated", "attention_backward", true, false, count),
                                        problem.gradients("strict", "attention_backward", true, false, count)));
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests

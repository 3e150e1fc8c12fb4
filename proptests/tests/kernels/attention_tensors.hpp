#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {

struct AttentionShape {
  std::int64_t batch, heads, key_heads, queries, keys, dim, width;
  bool causal = false, masked = false;

  std::int64_t rows() const { return batch * heads * queries; }
};

/// Tensors of attention and of its gradient, compact, of values in [-1, 1).
template <class Bits>
struct AttentionTensors {
  static constexpr DLDataType type = Stored<Bits>::type;

  explicit AttentionTensors(const AttentionShape& of)
      : shape(of),
        q(type, {of.batch, of.heads, of.queries, of.dim}),
        k(type, {of.batch, of.key_heads, of.keys, of.dim}),
        v(type, {of.batch, of.key_heads, of.keys, of.width}),
        d_out(type, {of.batch, of.heads, of.queries, of.width}),
        mask(mask_type, {of.batch, of.heads, of.queries, of.keys}, {}, 0, 1),
        out(d_out),
        lse({of.batch, of.heads, of.queries}),
        entropy(lse),
        maximum(lse),
        dq(q),
        dk(k),
        dv(v) {
    std::uint32_t seed = 0;
    for (Tensor<Bits>* tensor : {&q, &k, &v, &d_out}) {
      const std::vector<double> numbers = uneven_row<double>(tensor->elements.size(), ++seed);
      std::ranges::transform(numbers, tensor->elements.begin(), [](double x) { return Stored<Bits>::of(x / 16 + 1); });
    }
  }

  /// Whether a kernel takes the call: for out, lse, the entropy and the largest score of each query.
  bool attend(softcheck_kernel kernel) {
    return taken(kernel, {&q.view, &k.view, &v.view}, {&out}, {&lse, &entropy, &maximum}, 4);
  }
  /// For so many of dq, dk and dv.
  bool differentiate(softcheck_kernel kernel, std::size_t count = 3) {
    return taken(kernel, {&q.view, &k.view, &v.view, &d_out.view}, {&dq, &dk, &dv}, {}, count);
  }
  void run(const std::string& symbol) { EXPECT_TRUE(attend(cpu_kernel(symbol))) << symbol; }

  /// What a query has: its row of out, lse, entropy and largest score.
  std::vector<float> result(std::size_t row) const {
    std::vector<float> values;
    const auto width = static_cast<std::size_t>(shape.width);
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      values.push_back(static_cast<float>(Stored<Bits>::number(out.elements[i])));
    }
    for (const F32* numbers : {&lse, &entropy, &maximum}) values.push_back(numbers->elements[row]);
    return values;
  }
  /// All of out, then those of lse, the entropy and the largest score.
  std::vector<float> results() const {
    std::vector<float> all;
    for (const Bits x : out.elements) all.push_back(static_cast<float>(Stored<Bits>::number(x)));
    for (const F32* of : {&lse, &entropy, &maximum}) all.insert(all.end(), of->elements.begin(), of->elements.end());
    return all;
  }
  std::vector<Bits> gradients() const {
    std::vector<Bits> all;
    for (const Tensor<Bits>* of : {&dq, &dk, &dv}) all.insert(all.end(), of->elements.begin(), of->elements.end());
    return all;
  }

  AttentionShape shape;
  double scale = 2;
  Tensor<Bits> q, k, v, d_out;
  Tensor<std::uint8_t> mask;
  Tensor<Bits> out;
  F32 lse, entropy, maximum;
  Tensor<Bits> dq, dk, dv;

 private:
  bool taken(softcheck_kernel kernel, std::vector<const DLTensor*> inputs, const std::vector<Tensor<Bits>*>& results,
             const std::vector<F32*>& of_rows, std::size_t count) {
    if (shape.masked) inputs.push_back(&mask.view);
    std::vector<DLTensor*> outputs;
    const auto add = [&](auto& tensor, auto unwritten) {
      std::ranges::fill(tensor.elements, unwritten);
      outputs.push_back(&tensor.view);
    };
    for (Tensor<Bits>* tensor : results) add(*tensor, Stored<Bits>::of(-7));
    for (F32* tensor : of_rows) add(*tensor, -7.0F);
    outputs.resize(count);
    return takes_call(kernel, inputs, outputs, scale, shape.causal);
  }
};

/// One query of a call alone, with the keys that causality lets it see and no others.
template <class Bits>
AttentionTensors<Bits> alone(const AttentionTensors<Bits>& all, std::int64_t row) {
  const AttentionShape& s = all.shape;
  const std::int64_t i = row % s.queries, h = row / s.queries % s.heads, b = row / s.queries / s.heads;
  const std::int64_t first = (b * s.key_heads + h / (s.heads / s.key_heads)) * s.keys;
  AttentionTensors<Bits> one({1, 1, 1, 1, s.causal ? i + 1 + s.keys - s.queries : s.keys, s.dim, s.width});
  const auto copy = [](Tensor<Bits>& to, const Tensor<Bits>& from, std::int64_t place) {
    std::copy_n(from.elements.begin() + place * from.shape[3], to.elements.size(), to.elements.begin());
  };
  one.scale = all.scale;
  copy(one.q, all.q, row);
  copy(one.d_out, all.d_out, row);
  copy(one.k, all.k, first);
  copy(one.v, all.v, first);
  return one;
}

/// Every so many queries of a call have the bits that they have alone.
template <class Bits>
void expect_bits_of_each_query_alone(AttentionTensors<Bits> all, const std::string& symbol, std::int64_t step) {
  all.run(symbol);
  for (std::int64_t row = 0; row < all.shape.rows(); row += step) {
    AttentionTensors<Bits> one = alone(all, row);
    one.run(symbol);
    EXPECT_TRUE(same_bits(one.result(0), all.result(static_cast<std::size_t>(row))))
        << symbol << (all.shape.causal ? " causal" : "") << " row " << row;
  }
}

/// A call has the same bits on any number of threads, and again.
template <class Bits>
void expect_bits_of_any_threads(AttentionTensors<Bits> call, const std::string& symbol) {
  call.run(symbol);
  const std::vector<float> once = call.results();
  on_threads({"1", "2", "3", "8", "1000", "nonsense"}, [&] {
    call.run(symbol);
    EXPECT_TRUE(same_bits(call.results(), once)) << symbol;
  });
}

/// n equal keys: the output is their value, the entropy ln n.
template <class Bits>
void expect_equal_keys_are_averaged(const std::string& symbol, std::int64_t n) {
  AttentionTensors<Bits> call({1, 1, 1, 1, n, 1, 1});
  std::ranges::fill(call.k.elements, Stored<Bits>::of(0.25));
  std::ranges::fill(call.v.elements, Stored<Bits>::of(3));
  call.run(symbol);
  EXPECT_EQ(call.out[0], Stored<Bits>::of(3)) << symbol;
  EXPECT_EQ(call.entropy[0], static_cast<float>(std::log(static_cast<double>(n)))) << symbol;
}

/// Of 50 queries the last one sees nothing, and the first value that the others see is NaN.
template <class Bits>
void expect_a_fully_masked_query_is_zero(const std::string& symbol) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  AttentionTensors<Bits> call({1, 1, 1, 50, 140, 5, 2, false, true});
  std::fill_n(call.mask.elements.begin() + 49 * 140, 140, std::uint8_t{0});
  call.v[0] = Stored<Bits>::of(nan);
  call.run(symbol);
  EXPECT_TRUE(same_bits(call.result(49), {0, 0, -infinity, 0, -infinity})) << symbol;
  EXPECT_TRUE(std::isnan(call.result(48)[0])) << symbol;
  for (const std::size_t other : {1, 2, 3, 4}) EXPECT_FALSE(std::isnan(call.result(48)[other])) << symbol;
}

}  // namespace softcheck::kernel_tests

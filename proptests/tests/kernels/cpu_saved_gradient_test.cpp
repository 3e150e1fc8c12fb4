// The gradient of attention from the output and the log-sum-exps that the forward pass returned. All keys are equal and
// the log-sum-exps are the scores, so that each visible probability is 1, and the outputs are any numbers: results are
// whole numbers, and show what was read.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "proptests/tests/kernels/attention_tensors.hpp"
#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

/// A call of whole numbers, the tensors of queries strided.
template <class Real>
class WholeNumbers {
 public:
  explicit WholeNumbers(const AttentionShape& of, std::uint64_t seed = 1)
      : s(of),
        q(type, {s.batch, s.heads, s.queries, s.dim}, gaps(s.dim), 1),
        k(type, {s.batch, s.key_heads, s.keys, s.dim}, {}, 0, Real(1)),
        v(type, {s.batch, s.key_heads, s.keys, s.width}),
        out(type, {s.batch, s.heads, s.queries, s.width}, gaps(s.width), 2),
        lse(type, {s.batch, s.heads, s.queries}, {2 * s.heads * s.queries + 1, 2 * s.queries, 2}, 1),
        dout(type, {s.batch, s.heads, s.queries, s.width}, gaps(s.width), 3),
        mask({kDLUInt, 8, 1}, {s.batch, 1, s.queries, s.keys}),
        dq(type, {s.batch, s.heads, s.queries, s.dim}),
        dk(type, k.shape),
        dv(type, v.shape),
        call(SOFTCHECK_OP_ATTENTION_BACKWARD, {&q.view, &k.view, &v.view, &out.view, &lse.view, &dout.view},
             {SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE, SOFTCHECK_ROLE_OUT, SOFTCHECK_ROLE_LSE,
              SOFTCHECK_ROLE_OUT_GRADIENT},
             dq.view),
        state_(seed) {
    for (auto* tensor : {&q.elements, &v.elements, &out.elements, &dout.elements}) {
      for (Real& x : *tensor) x = draw();
    }
    for (std::uint8_t& x : mask.elements) x = static_cast<std::uint8_t>(draw() < 2 ? 1 : 0);
    if (s.masked) {
      std::fill_n(mask.elements.begin() + (s.queries - 2) * s.keys, s.keys,
                  std::uint8_t{0});  // of batch 0: a query that sees nothing, in front of one that does
      call.add_input(mask.view, SOFTCHECK_ROLE_MASK);
    }
    call.whole.call.causal = s.causal ? 1 : 0;
    call.outputs.push_back(&dk.view);
    call.outputs.push_back(&dv.view);
    each_query([&](std::int64_t b, std::int64_t h, std::int64_t i) { at(lse, b, h, i) = score(b, h, i); });
  }

  bool sees(std::int64_t b, std::int64_t i, std::int64_t j) const {
    const auto place = static_cast<std::size_t>((b * s.queries + i) * s.keys + j);
    return (!s.causal || j <= i + s.keys - s.queries) && (!s.masked || mask.elements[place] != 0);
  }
  bool sees_any(std::int64_t b, std::int64_t i) const {
    for (std::int64_t j = 0; j < s.keys; ++j) {
      if (sees(b, i, j)) return true;
    }
    return false;
  }
  template <class Each>
  void each_query(Each each) const {
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t h = 0; h < s.heads; ++h) {
        for (std::int64_t i = 0; i < s.queries; ++i) each(b, h, i);
      }
    }
  }
  static Real& at(Tensor<Real>& of, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c = 0) {
    const std::vector<std::int64_t>& extents = of.shape;
    std::int64_t place = c;
    if (of.strides.empty()) {
      place = ((b * extents[1] + h) * extents[2] + i) * (extents.size() > 3 ? extents[3] : 1) + c;
    } else {
      place = b * of.strides[0] + h * of.strides[1] + i * of.strides[2] + (extents.size() > 3 ? c * of.strides[3] : 0);
    }
    return of.elements[of.first + static_cast<std::size_t>(place)];
  }
  /// Of a query against each key.
  Real score(std::int64_t b, std::int64_t h, std::int64_t i) {
    Real sum = 0;
    for (std::int64_t c = 0; c < s.dim; ++c) sum += at(q, b, h, i, c);
    return sum;
  }

  /// Whether the results are the gradients by definition, p = 1 and delta = <dout, out>.
  bool holds() {
    Tensor<Real> by_q(type, dq.shape), by_k(type, dk.shape), by_v(type, dv.shape);
    each_query([&](std::int64_t b, std::int64_t h, std::int64_t i) {
      const std::int64_t of = h / (s.heads / s.key_heads);
      for (std::int64_t j = 0; j < s.keys; ++j) {
        if (!sees(b, i, j)) continue;
        Real slope = 0;  // g - delta
        for (std::int64_t c = 0; c < s.width; ++c) {
          slope += at(dout, b, h, i, c) * (at(v, b, of, j, c) - at(out, b, h, i, c));
          at(by_v, b, of, j, c) += at(dout, b, h, i, c);
        }
        for (std::int64_t c = 0; c < s.dim; ++c) {
          at(by_q, b, h, i, c) += slope;
          at(by_k, b, of, j, c) += slope * at(q, b, h, i, c);
        }
      }
    });
    return same_bits(dq.elements, by_q.elements) && same_bits(dk.elements, by_k.elements) &&
           same_bits(dv.elements, by_v.elements);
  }

  static constexpr DLDataType type = dtype_of<Real>();
  AttentionShape s;
  Tensor<Real> q, k, v, out, lse, dout;
  Tensor<std::uint8_t> mask;
  Tensor<Real> dq, dk, dv;
  Call2 call;

 private:
  /// Rows of a last dimension with gaps, head by head within a query.
  std::vector<std::int64_t> gaps(std::int64_t dim) const {
    const std::int64_t row = dim + 1;
    return {s.heads * s.queries * row + 5, row, s.heads * row, 1};
  }
  /// -2 to 3.
  Real draw() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<Real>(static_cast<int>((state_ >> 33) % 6) - 2);
  }

  std::uint64_t state_;
};

const std::vector<AttentionShape>& saved_shapes() {
  static const std::vector<AttentionShape> list{
      {1, 1, 1, 1, 1, 1, 1, false, false},
      {2, 4, 2, 55, 270, 3, 2, false, false},
      {1, 2, 1, 150, 300, 5, 17, true, false},
      {2, 1, 1, 300, 140, 2, 3, true, false},  // the first 160 queries see nothing
      {2, 2, 2, 60, 150, 3, 2, false, true},
      {1, 3, 1, 131, 131, 2, 2, true, true}};
  return list;
}

TEST(CpuSavedGradient, IsMadeOfWhatTheForwardPassReturned) {
  for_each_type<float, double>([]<class Real> {
    for (const AttentionShape& shape : saved_shapes()) {
      on_threads({"1", "3"}, [&] {
        WholeNumbers<Real> of(shape);
        ASSERT_TRUE(of.call.run());
        EXPECT_TRUE(of.holds()) << shape.queries << " queries";
      });
    }
  });
}

// A query without keys has the log-sum-exp -inf, and a gradient of 0 whatever stands in its other rows.
TEST(CpuSavedGradient, AQueryThatSeesNothingGivesNothing) {
  for (const AttentionShape& shape : saved_shapes()) {
    WholeNumbers<float> of(shape);
    of.each_query([&](std::int64_t b, std::int64_t h, std::int64_t i) {
      if (of.sees_any(b, i)) return;
      of.at(of.lse, b, h, i) = -std::numeric_limits<float>::infinity();
      of.at(of.q, b, h, i) = of.at(of.out, b, h, i) = NAN;
      of.at(of.dout, b, h, i) = INFINITY;
    });
    ASSERT_TRUE(of.call.run());
    EXPECT_TRUE(of.holds()) << shape.queries << " queries";
  }
}

// Even where the log-sum-exp does not say so.
TEST(CpuSavedGradient, AScoreThatIsNoNumberIsSeen) {
  WholeNumbers<float> of({1, 1, 1, 60, 150, 2, 2, true, false});
  of.at(of.q, 0, 0, 55) = NAN;
  ASSERT_TRUE(of.call.run());
  for (std::int64_t i = 0; i < 60; ++i) EXPECT_EQ(std::isnan(of.at(of.dq, 0, 0, i)), i == 55) << i;
  for (std::int64_t j = 0; j < 150; ++j) EXPECT_EQ(std::isnan(of.at(of.dv, 0, 0, j)), j <= 145) << j;
}

// A log-sum-exp is rounded, and may lie below a score: no probability is above 1, nor infinite.
TEST(CpuSavedGradient, NoProbabilityIsAboveOne) {
  WholeNumbers<float> of({1, 2, 1, 50, 140, 3, 2, true, false});
  of.each_query(
      [&](std::int64_t b, std::int64_t h, std::int64_t i) { of.at(of.lse, b, h, i) -= (i % 2) == 0 ? 0.5F : 1000.0F; });
  ASSERT_TRUE(of.call.run());
  EXPECT_TRUE(of.holds());
}

TEST(CpuSavedGradient, AsManyResultsAsAreAskedFor) {
  WholeNumbers<float> of({2, 2, 1, 210, 140, 3, 2, true, false}), all(of.s);
  ASSERT_TRUE(all.call.run());
  of.call.outputs.resize(1);
  ASSERT_TRUE(of.call.run());
  EXPECT_TRUE(same_bits(of.dq.elements, all.dq.elements));
  EXPECT_TRUE(same_bits(of.dk.elements, std::vector<float>(of.dk.elements.size())));
}

TEST(CpuSavedGradient, OutputsAndLogSumExpsOfAnotherShapeOrFormatAreRefused) {
  WholeNumbers<float> of({1, 2, 1, 3, 4, 3, 2, false, false});
  F32 long_lse({1, 2, 4}), wide_out({1, 2, 3, 3});
  Tensor<double> double_lse(dtype_of<double>(), {1, 2, 3}), double_out(dtype_of<double>(), {1, 2, 3, 2});
  EXPECT_TRUE(of.call.run());
  const auto refused = [&](std::size_t place, const DLTensor& tensor) {
    const DLTensor* before = std::exchange(of.call.inputs[place], &tensor);
    EXPECT_FALSE(of.call.run()) << place;
    of.call.inputs[place] = before;
  };
  refused(4, long_lse.view);
  refused(4, double_lse.view);
  refused(3, wide_out.view);
  refused(3, double_out.view);
  EXPECT_TRUE(of.call.run());
}

// A loss on attention's log-sum-exps beside one on its output, where the gradients are numbers of the format.

/// A whole number as its format stores it; f16 in 16 bits.
template <class Bits>
Bits bits_of(int x) {
  if constexpr (sizeof(Bits) == 2) {
    return static_cast<Bits>(numerics::encode(numerics::Format::f16, x));
  } else {
    return static_cast<Bits>(x);
  }
}

// Two queries, two equal keys: g = 1 and 3, delta = 2. In f32 and f64 the log-sum-exps are those of p = 1 for each key;
// in f16 they are in 16 bits, and not read: p = 1/2.
template <class Bits>
struct TwoQueries {
  static constexpr DLDataType type = {kDLFloat, 8 * sizeof(Bits), 1};
  Tensor<Bits> q{type, {1, 1, 2, 1}}, k{type, {1, 1, 2, 1}, {}, 0, bits_of<Bits>(1)}, v{type, {1, 1, 2, 1}},
      out{type, {1, 1, 2, 1}, {}, 0, bits_of<Bits>(2)}, lse{type, {1, 1, 2}},
      dout{type, {1, 1, 2, 1}, {}, 0, bits_of<Bits>(1)}, by_lse{type, {1, 1, 2}, {9, 7, 3}, 2}, dq{type, {1, 1, 2, 1}},
      dk{type, {1, 1, 2, 1}}, dv{type, {1, 1, 2, 1}};
  Call2 call{SOFTCHECK_OP_ATTENTION_BACKWARD,
             {&q.view, &k.view, &v.view, &out.view, &lse.view, &dout.view, &by_lse.view},
             {SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE, SOFTCHECK_ROLE_OUT, SOFTCHECK_ROLE_LSE,
              SOFTCHECK_ROLE_OUT_GRADIENT, SOFTCHECK_ROLE_LSE_GRADIENT},
             dq.view};

  TwoQueries() {
    q.elements[0] = lse.elements[0] = bits_of<Bits>(2);
    q.elements[1] = lse.elements[1] = bits_of<Bits>(8);
    v.elements[0] = bits_of<Bits>(1);
    v.elements[1] = bits_of<Bits>(3);
    by_lse.elements[2] = bits_of<Bits>(4);
    by_lse.elements[5] = bits_of<Bits>(-2);
    call.outputs.push_back(&dk.view);
    call.outputs.push_back(&dv.view);
  }
};

template <class Bits>
void gradients_are(const std::vector<int>& dq, const std::vector<int>& dk, const std::vector<int>& dv) {
  const auto stored = [](const std::vector<int>& values) {
    std::vector<Bits> bits;
    for (const int x : values) bits.push_back(bits_of<Bits>(x));
    return bits;
  };
  TwoQueries<Bits> of;
  ASSERT_TRUE(of.call.run());
  EXPECT_TRUE(same_bits(of.dq.elements, stored(dq)));
  EXPECT_TRUE(same_bits(of.dk.elements, stored(dk)));
  EXPECT_TRUE(same_bits(of.dv.elements, stored(dv)));
}

TEST(CpuLseGradient, IsAddedToEachDifferenceOfWhatWasSaved) {
  gradients_are<float>({8, -4}, {-18, 2}, {2, 2});
  gradients_are<double>({8, -4}, {-18, 2}, {2, 2});
}

TEST(CpuLseGradient, IsAddedToEachDifference) { gradients_are<std::uint16_t>({4, -2}, {-9, 1}, {1, 1}); }

TEST(CpuLseGradient, OfAnotherShapeOrPlaceIsRefused) {
  TwoQueries<float> of;
  Tensor<float> longer(dtype_of<float>(), {1, 1, 3});
  of.call.inputs.back() = &longer.view;
  EXPECT_FALSE(of.call.run());
  of.call.inputs.back() = &of.by_lse.view;
  of.call.roles.back() = SOFTCHECK_ROLE_SINKS;
  EXPECT_FALSE(of.call.run());
  of.call.roles.back() = SOFTCHECK_ROLE_LSE_GRADIENT;
  EXPECT_TRUE(of.call.run());
}

}  // namespace
}  // namespace softcheck::kernel_tests

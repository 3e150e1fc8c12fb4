// The mean and the sum of losses and their gradient, where the exact result is a number of the format. The judge judges
// the rest.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

constexpr double mean_nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t mean_ignored = -100;

// Rows of one class each, whose loss is z x^2 with z = 1.
template <class Bits, class Loss>
Loss of_squares(const std::vector<double>& logits, const std::vector<std::int64_t>& labels, bool mean,
                const char* threads = "1") {
  const auto rows = static_cast<std::int64_t>(logits.size());
  Tensor<Bits> x(Stored<Bits>::type, {rows, 1});
  x.set(stored<Bits>(logits));
  Tensor<std::int64_t> y(label_type<std::int64_t>, {rows}, {3}, 2);
  for (std::int64_t r = 0; r < rows; ++r) y.at(r) = labels[static_cast<std::size_t>(r)];
  Tensor<Loss> loss(dtype_of<Loss>(), {1}, {}, 0, Loss(-1));
  Call2 call(SOFTCHECK_OP_CROSS_ENTROPY_MEAN, {&x.view, &y.view}, loss_roles(), loss.view);
  call.attributes.z_loss = 1;
  call.attributes.mean = mean ? 1 : 0;
  on_threads({threads}, [&] { EXPECT_TRUE(call.run()); });
  return loss.elements[0];
}

TEST(CpuMeans, MeansCountTheRowsThatAreNotIgnored) {
  for_each_type<float, std::uint16_t>([]<class Bits> {
    const std::vector<double> logits{1, 2, 3, 4, 5};
    EXPECT_EQ((of_squares<Bits, float>(logits, {0, 0, mean_ignored, 0, mean_ignored}, true)), 7.0F);
    EXPECT_EQ((of_squares<Bits, float>(logits, {0, 0, mean_ignored, 0, mean_ignored}, false)), 21.0F);
    EXPECT_EQ((of_squares<Bits, float>({3, mean_nan}, {0, mean_ignored}, true)), 9.0F);
    EXPECT_TRUE(std::isnan(of_squares<Bits, float>({3, mean_nan}, {0, 0}, true)));
    EXPECT_TRUE(std::isnan(of_squares<Bits, float>({3, 2}, {0, 1}, true)));  // no class
  });
  EXPECT_EQ((of_squares<double, double>({1, 2, 7}, {0, 0, mean_ignored}, true)), 2.5);
}

TEST(CpuMeans, AMeanOfNothingIsNanAndItsSumZero) {
  for (const bool mean : {true, false}) {
    for (const std::size_t rows : {0U, 1U, 5U}) {
      const std::vector<double> logits(rows, 2);
      const std::vector<std::int64_t> labels(rows, mean_ignored);
      const float loss = of_squares<float, float>(logits, labels, mean);
      EXPECT_TRUE(mean ? std::isnan(loss) : loss == 0.0F) << rows;
    }
  }
}

// Auxiliary 2^54 a double holds no 1; beside 2^30 a float holds none.
TEST(CpuMeans, SmallLossesAreNotLostBesideALargeOne) {
  std::vector<double> logits(17, 1);
  logits[0] = 0x1p27;
  const std::vector<std::int64_t> labels(17, 0);
  EXPECT_EQ((of_squares<double, double>(logits, labels, false)), 0x1p54 + 16);
  logits[0] = 0x1p15;
  logits.resize(1025, 1);
  const std::vector<std::int64_t> more(1025, 0);
  EXPECT_EQ((of_squares<float, float>(logits, more, false)), 0x1p30F + 1024);
  EXPECT_EQ((of_squares<float, float>(logits, more, false, "7")), 0x1p30F + 1024);
}

// Logits 0 and -512: the loss of the second class is 512 times its weight, that of the first 0.
float weighted_mean_of(const std::vector<std::int32_t>& classes, bool mean) {
  const auto rows = static_cast<std::int64_t>(classes.size());
  F32 x({rows, 2}), weights({2}, {2}, 1), loss({1}, {}, 0, -1);
  Tensor<std::int32_t> y(label_type<std::int32_t>, {rows});
  for (std::int64_t r = 0; r < rows; ++r) x.at(r, 1) = -512;
  y.set(classes);
  weights.at(0) = 3;
  weights.at(1) = 1;
  Call2 call(SOFTCHECK_OP_CROSS_ENTROPY_MEAN, {&x.view, &y.view}, loss_roles(), loss.view);
  call.add_input(weights.view, SOFTCHECK_ROLE_CLASS_WEIGHTS);
  call.attributes.mean = mean ? 1 : 0;
  EXPECT_TRUE(call.run());
  return loss[0];
}

TEST(CpuMeans, WithClassWeightsTheirSumDivides) {
  EXPECT_EQ(weighted_mean_of({0, 1}, true), 128.0F);
  EXPECT_EQ(weighted_mean_of({0, 1, mean_ignored}, true), 128.0F);
  EXPECT_EQ(weighted_mean_of({0, 1, 1}, false), 1024.0F);
  EXPECT_EQ(weighted_mean_of({1, mean_ignored, mean_ignored}, true), 512.0F);
  EXPECT_TRUE(std::isnan(weighted_mean_of({mean_ignored}, true)));
  EXPECT_TRUE(std::isnan(weighted_mean_of({0, 2}, true)));
}

struct GradientOptions {
  bool mean = true, in_place = false, weights = false;
  const char* threads = "1";
};

/// Rows of uneven logits, half of the labels ignored; what the op gives them.
template <class Bits>
std::vector<Bits> gradient_of_op(softcheck_op op, std::int64_t rows, std::int64_t n, double upstream,
                                 GradientOptions options = {}) {
  Tensor<Bits> x(Stored<Bits>::type, {rows, n}), out(Stored<Bits>::type, {rows, n});
  Tensor<std::int64_t> labels(label_type<std::int64_t>, {rows});
  const bool reduced = op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD;
  Tensor<Bits> factor(Stored<Bits>::type, {reduced ? 1 : rows}, {}, 0, Stored<Bits>::of(upstream));
  Tensor<Bits> weights(Stored<Bits>::type, {n}, {}, 0, Stored<Bits>::of(2));
  for (std::int64_t r = 0; r < rows; ++r) {
    x.set_row(r, stored<Bits>(uneven_row<double>(static_cast<std::size_t>(n), static_cast<std::uint32_t>(r) + 1)));
    labels.at(r) = r % 2 == 0 ? r * 7919 % n : mean_ignored;
  }
  Call2 call(op, {&x.view, &labels.view, &factor.view}, loss_gradient_roles(), options.in_place ? x.view : out.view);
  if (options.weights) call.add_input(weights.view, SOFTCHECK_ROLE_CLASS_WEIGHTS);
  call.attributes.label_smoothing = 0.125;
  if (reduced) call.attributes.mean = options.mean ? 1 : 0;
  on_threads({options.threads}, [&] { EXPECT_TRUE(call.run()); });
  return options.in_place ? x.elements : out.elements;
}

TEST(CpuMeans, GradientsAreThoseOfTheRowsOverTheDivisor) {
  for_each_type<float, double, std::uint16_t>([]<class Bits> {
    constexpr softcheck_op of_rows = SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD,
                           of_mean = SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD;
    for (const std::int64_t n : {1, 33, 5000}) {
      const std::vector<Bits> by_four = gradient_of_op<Bits>(of_rows, 8, n, -0.75);
      EXPECT_TRUE(same_bits(gradient_of_op<Bits>(of_mean, 8, n, -3), by_four)) << n;
      EXPECT_TRUE(same_bits(gradient_of_op<Bits>(of_mean, 8, n, -3, {.in_place = true, .threads = "7"}), by_four)) << n;
      EXPECT_TRUE(same_bits(gradient_of_op<Bits>(of_mean, 8, n, -0.75, {.mean = false}), by_four)) << n;
      // Four weights of 2 divide by 8.
      EXPECT_TRUE(same_bits(gradient_of_op<Bits>(of_mean, 8, n, -6, {.weights = true}),
                            gradient_of_op<Bits>(of_rows, 8, n, -0.75, {.weights = true})))
          << n;
    }
  });
}

TEST(CpuMeans, TheGradientOfNothingIsZero) {
  F32 x({3, 5}, {}, 0, 2), out({3, 5}, {}, 0, -1), upstream({1}, {}, 0, 1);
  Tensor<std::int64_t> labels(label_type<std::int64_t>, {3}, {}, 0, mean_ignored);
  Call2 call(SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, {&x.view, &labels.view, &upstream.view}, loss_gradient_roles(),
             out.view);
  call.attributes.mean = 1;
  ASSERT_TRUE(call.run());
  EXPECT_TRUE(same_bits(out.elements, std::vector<float>(15, 0.0F)));
}

TEST(CpuMeans, WhatIsNotSupportedIsRefused) {
  F32 x({2, 3}), out({2, 3}), one({1}), of_rows({2}), weights({3});
  Tensor<std::int64_t> labels(label_type<std::int64_t>, {2});
  const auto forward = [&](auto change) {
    Call2 call(SOFTCHECK_OP_CROSS_ENTROPY_MEAN, {&x.view, &labels.view}, loss_roles(), one.view);
    change(call);
    return call.run();
  };
  EXPECT_TRUE(forward([](Call2&) {}));
  EXPECT_FALSE(forward([](Call2& call) { call.attributes.mean = 2; }));
  EXPECT_FALSE(forward([&](Call2& call) { call.outputs[0] = &of_rows.view; }));
  const auto weighted = [&](double z_loss) {
    return forward([&](Call2& call) {
      call.add_input(weights.view, SOFTCHECK_ROLE_CLASS_WEIGHTS);
      call.attributes.z_loss = z_loss;
    });
  };
  EXPECT_TRUE(weighted(0));
  EXPECT_FALSE(weighted(1));
  const auto backward = [&](const DLTensor& upstream, DLTensor& to) {
    return Call2(SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, {&x.view, &labels.view, &upstream}, loss_gradient_roles(),
                 to)
        .run();
  };
  EXPECT_TRUE(backward(one.view, out.view));
  EXPECT_FALSE(backward(of_rows.view, out.view));
  EXPECT_FALSE(backward(one.view, of_rows.view));
}

}  // namespace
}  // namespace softcheck::kernel_tests

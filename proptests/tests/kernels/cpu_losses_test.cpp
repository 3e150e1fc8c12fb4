// Cross-entropy and its gradient, where the exact result is a number of the format. The judge judges the rest.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

constexpr double loss_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double loss_infinity = std::numeric_limits<double>::infinity();

// From one lane to more blocks than wait in a cache.
const std::vector<std::int64_t>& powers() {
  static const std::vector<std::int64_t> list{1, 2, 4, 32, 64, 1024, 32768};
  return list;
}

struct Options {
  double label_smoothing = 0, z_loss = 0, upstream = 1, softcap = 0;
  std::vector<double> weights = {};
};

/// One row of logits and its label, with class weights where there are any.
template <class Bits>
struct LossRow {
  LossRow(const std::vector<double>& logits, std::int64_t label, const Options& of)
      : options(of),
        x(Stored<Bits>::type, {1, static_cast<std::int64_t>(logits.size())}),
        y(label_type<std::int64_t>, {1}, {}, 0, label),
        upstream(Stored<Bits>::type, {1}, {}, 0, Stored<Bits>::of(of.upstream)),
        weights(Stored<Bits>::type, {static_cast<std::int64_t>(of.weights.size())}) {
    x.set_row(0, stored<Bits>(logits));
    weights.set(stored<Bits>(of.weights));
  }

  void run(softcheck_op op, DLTensor& out) const {
    Call2 call(op, {&x.view, &y.view}, loss_roles(), out);
    if (op == SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD) call.add_input(upstream.view, SOFTCHECK_ROLE_UPSTREAM);
    if (!options.weights.empty()) call.add_input(weights.view, SOFTCHECK_ROLE_CLASS_WEIGHTS);
    call.attributes.label_smoothing = options.label_smoothing;
    call.attributes.z_loss = options.z_loss;
    call.attributes.softcap = options.softcap;
    EXPECT_TRUE(call.run());
  }

  Options options;
  Tensor<Bits> x;
  Tensor<std::int64_t> y;
  Tensor<Bits> upstream, weights;
};

/// f32 or f64.
template <class Bits, class Loss>
Loss loss_of(const std::vector<double>& logits, std::int64_t label, const Options& options = {}) {
  Tensor<Loss> loss(dtype_of<Loss>(), {1}, {}, 0, Loss(-1));
  LossRow<Bits>(logits, label, options).run(SOFTCHECK_OP_CROSS_ENTROPY, loss.view);
  return loss.elements[0];
}

/// And its gradient; the output's columns lie so many elements apart.
template <class Bits>
std::vector<Bits> gradient_of(const std::vector<double>& logits, std::int64_t label, const Options& options = {},
                              std::int64_t step = 1) {
  const auto n = static_cast<std::int64_t>(logits.size());
  Tensor<Bits> out(Stored<Bits>::type, {1, n}, {n * step, step});
  LossRow<Bits>(logits, label, options).run(SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, out.view);
  return out.row(0);
}

// Half the logits lie 512 below the others and weigh nothing: L = ln(V / 2).
TEST(CpuLosses, LossesAreAsDefined) {
  for_each_type<float, std::uint16_t>([]<class Bits> {
    for (const std::int64_t n : powers()) {
      if (n < 4) continue;
      std::vector<double> logits(static_cast<std::size_t>(n), 0.0);
      for (std::size_t i = 1; i < logits.size(); i += 2) logits[i] = -512;
      const double log = std::log(static_cast<double>(n / 2));
      for (const std::int64_t label : {std::int64_t{0}, std::int64_t{1}, n - 1}) {
        const double negative = log - logits[static_cast<std::size_t>(label)];
        EXPECT_EQ((loss_of<Bits, float>(logits, label)), static_cast<float>(negative)) << n;
        EXPECT_EQ((loss_of<Bits, float>(logits, label, {.label_smoothing = 0.25})),
                  static_cast<float>(0.75 * negative + 0.25 * (log + 256)))
            << n;
        EXPECT_EQ((loss_of<Bits, float>(logits, label, {.z_loss = 0.5})),
                  static_cast<float>(negative + 0.5 * log * log))
            << n;
      }
    }
  });
  EXPECT_EQ((loss_of<double, double>({3}, 0, {.z_loss = 0.25})), 2.25);
  EXPECT_EQ((loss_of<double, double>({3, 3}, 1)), std::log1p(1.0));
  EXPECT_EQ((loss_of<float, float>({3, -loss_infinity}, 1)), loss_infinity);
}

TEST(CpuLosses, GradientsOfTiesAreExact) {
  for_each_type<float, double, std::uint16_t>([]<class Bits> {
    for (const std::int64_t n : powers()) {
      const std::vector<double> logits(static_cast<std::size_t>(n), -7.25);
      const double p = 1 / static_cast<double>(n);
      for (const double smoothing : {0.0, 0.5}) {
        for (const std::int64_t label : {std::int64_t{0}, n - 1}) {
          std::vector<Bits> expected(logits.size(), Stored<Bits>::of(-2 * (p - smoothing * p)));
          expected[static_cast<std::size_t>(label)] = Stored<Bits>::of(-2 * (p - (1 - smoothing) - smoothing * p));
          for (const std::int64_t step : {1, 2}) {
            const Options options{.label_smoothing = smoothing, .upstream = -2};
            EXPECT_TRUE(same_bits(gradient_of<Bits>(logits, label, options, step), expected)) << n << " by " << step;
          }
        }
      }
    }
  });
}

// 4 for the label, and of the others 2 for every odd class. Of equal logits p = 1 / V.
TEST(CpuLosses, ClassWeightsAreThoseOfTheClasses) {
  for_each_type<float, std::uint16_t>([]<class Bits> {
    for (const std::int64_t n : powers()) {
      const std::vector<double> logits(static_cast<std::size_t>(n), -7.25);
      const double p = 1 / static_cast<double>(n), log = std::log(static_cast<double>(n));
      for (const std::int64_t label : {std::int64_t{0}, n - 1}) {
        std::vector<double> weights(logits.size());
        double mean = 0;
        for (std::size_t j = 0; j < weights.size(); ++j) {
          weights[j] = static_cast<std::int64_t>(j) == label ? 4 : j % 2 == 1 ? 2 : 0;
          mean += weights[j] * p;
        }
        for (const double smoothing : {0.0, 0.5}) {
          const Options options{.label_smoothing = smoothing, .upstream = -2, .weights = weights};
          const double factor = (1 - smoothing) * 4 + smoothing * mean;
          EXPECT_EQ((loss_of<Bits, float>(logits, label, options)), static_cast<float>(factor * log)) << n;
          std::vector<Bits> expected;
          for (std::size_t j = 0; j < weights.size(); ++j) {
            const double target = static_cast<std::int64_t>(j) == label ? (1 - smoothing) * 4 : 0;
            expected.push_back(Stored<Bits>::of(-2 * (factor * p - target - smoothing * p * weights[j])));
          }
          EXPECT_TRUE(same_bits(gradient_of<Bits>(logits, label, options), expected)) << n << " label " << label;
        }
      }
    }
  });
}

// A saturated logit is the cap, and has no slope; one of 0 stays 0, and has the slope 1.
TEST(CpuLosses, ASoftcapSaturatesAndLeavesZeroAsItIs) {
  for (const double smoothing : {0.0, 0.25}) {
    const Options capped{.label_smoothing = smoothing, .softcap = 4}, plain{.label_smoothing = smoothing};
    EXPECT_EQ((loss_of<float, float>({1e30, -1e30, 1e30}, 1, capped)), (loss_of<float, float>({4, -4, 4}, 1, plain)));
    EXPECT_EQ((loss_of<double, double>({900, -900}, 0, capped)), (loss_of<double, double>({4, -4}, 0, plain)));
    for (const float dx : gradient_of<float>({1e30, -1e30, 1e30}, 1, capped)) EXPECT_EQ(dx, 0);
    EXPECT_TRUE(same_bits(gradient_of<float>({0, 0, 0}, 1, capped), gradient_of<float>({0, 0, 0}, 1, plain)));
  }
  EXPECT_EQ((loss_of<float, float>({3, -loss_infinity}, 0, {.softcap = 4})), 0);
  EXPECT_TRUE(std::isnan(loss_of<float, float>({3, loss_nan}, 0, {.softcap = 4})));
}

// L = 3, p = 1: 2 z L.
TEST(CpuLosses, TheZLossHasItsGradient) {
  EXPECT_EQ(gradient_of<float>({3}, 0, {.z_loss = 0.25, .upstream = 2})[0], 3.0F);
  EXPECT_EQ(gradient_of<double>({3}, 0, {.z_loss = 0.25, .upstream = 2})[0], 3.0);
  EXPECT_EQ(gradient_of<float>({3, -512}, 1, {.z_loss = 0.25})[0], 2.5F);  // that of another class
}

// Rows of three logits: one as usual, and one of each kind that is not.
template <class Int>
void labels_are_read(Int ignored) {
  F32 x({6, 3}, {}, 0, 2);
  Tensor<Int> labels(label_type<Int>, {6}, {3}, 2);
  const Int classes[] = {2, ignored, 0, 3, -1, ignored};
  for (std::int64_t r = 0; r < 6; ++r) labels.at(r) = classes[r];
  x.at(1, 1) = x.at(2, 1) = std::numeric_limits<float>::quiet_NaN();
  F32 loss({6}, {2}, 1, -1), upstream({6}, {4}, 3, 1), out({6, 3}, {}, 0, -1);
  upstream.at(5) = std::numeric_limits<float>::quiet_NaN();
  Call2 forward(SOFTCHECK_OP_CROSS_ENTROPY, {&x.view, &labels.view}, loss_roles(), loss.view);
  Call2 backward(SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, {&x.view, &labels.view, &upstream.view}, loss_gradient_roles(),
                 out.view);
  forward.attributes.ignore_index = backward.attributes.ignore_index = ignored;
  ASSERT_TRUE(forward.run());
  ASSERT_TRUE(backward.run());
  EXPECT_EQ(loss.at(0), static_cast<float>(std::log(3.0)));
  EXPECT_LT(out.at(0, 2), 0.0F);
  for (const std::int64_t r : {1, 5}) {
    EXPECT_EQ(loss.at(r), 0.0F) << r;
    EXPECT_TRUE(same_bits(out.row(r), std::vector<float>(3, 0.0F))) << r;
  }
  for (const std::int64_t r : {2, 3, 4}) {  // NaN, and labels that are no class
    EXPECT_TRUE(std::isnan(loss.at(r))) << r;
    for (const float g : out.row(r)) EXPECT_TRUE(std::isnan(g)) << r;
  }
}

TEST(CpuLosses, LabelsAreReadWhereverTheyLie) {
  labels_are_read<std::int32_t>(-100);
  labels_are_read<std::int64_t>(-100);
  labels_are_read<std::int32_t>(7);
  labels_are_read<std::int64_t>(std::int64_t{1} << 32);  // whose low word is a class
}

TEST(CpuLosses, RowsWithoutALossAreNan) {
  for (const std::vector<double>& logits :
       {std::vector<double>{loss_nan, 1}, {loss_infinity, 1}, {-loss_infinity, -loss_infinity}}) {
    EXPECT_TRUE(std::isnan(loss_of<float, float>(logits, 1)));
    for (const double g : gradient_of<double>(logits, 1)) EXPECT_TRUE(std::isnan(g));
  }
  for (const float g : gradient_of<float>({1, 2}, 1, {.upstream = loss_nan})) EXPECT_TRUE(std::isnan(g));
}

/// Rows of uneven logits, every fourth label ignored; in place or not, on so many threads.
std::vector<float> gradient_of_rows(std::int64_t n, bool in_place, const char* threads) {
  constexpr std::int64_t rows = 40;
  F32 x({rows, n}), out({rows, n}), upstream({rows});
  Tensor<std::int32_t> labels(label_type<std::int32_t>, {rows});
  fill_unevenly(x);
  for (std::int64_t r = 0; r < rows; ++r) {
    labels.at(r) = r % 4 == 3 ? -100 : static_cast<std::int32_t>(r * 7919 % n);
    upstream.at(r) = static_cast<float>(r - 20) / 16;
  }
  Call2 call(SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, {&x.view, &labels.view, &upstream.view}, loss_gradient_roles(),
             in_place ? x.view : out.view);
  call.attributes.label_smoothing = 0.1;
  call.attributes.z_loss = 0x1p-10;
  on_threads({threads}, [&] { EXPECT_TRUE(call.run()); });
  return in_place ? x.elements : out.elements;
}

TEST(CpuLosses, InPlaceAndOnThreadsTheBitsAreTheSame) {
  for (const std::int64_t n : {1, 33, 896, 897, 5000, 20000}) {
    const std::vector<float> once = gradient_of_rows(n, false, "1");
    EXPECT_TRUE(same_bits(gradient_of_rows(n, true, "1"), once)) << n;
    EXPECT_TRUE(same_bits(gradient_of_rows(n, true, "7"), once)) << n;
  }
}

TEST(CpuLosses, WhatIsNotSupportedIsRefused) {
  F32 x({2, 3}), out({2, 3}), upstream({2}), loss({2}), longer({3});
  Tensor<std::int64_t> labels(label_type<std::int64_t>, {2}), more(label_type<std::int64_t>, {3});
  Tensor<std::int16_t> narrow(label_type<std::int16_t>, {2});
  const auto forward = [&](auto change) {
    Call2 call(SOFTCHECK_OP_CROSS_ENTROPY, {&x.view, &labels.view}, loss_roles(), loss.view);
    change(call);
    return call.run();
  };
  EXPECT_TRUE(forward([](Call2&) {}));
  EXPECT_FALSE(forward([](Call2& call) { call.attributes.softcap = -1; }));
  EXPECT_FALSE(forward([](Call2& call) { call.attributes.softcap = loss_infinity; }));
  EXPECT_FALSE(forward([](Call2& call) { call.attributes.mean = 1; }));
  EXPECT_FALSE(forward([](Call2& call) { call.attributes.label_smoothing = 1.5; }));
  EXPECT_FALSE(forward([](Call2& call) { call.attributes.z_loss = loss_infinity; }));
  EXPECT_FALSE(forward([](Call2& call) { call.attributes.size -= 8; }));
  EXPECT_FALSE(forward([](Call2& call) { call.whole.call.abi_version = 3; }));
  EXPECT_FALSE(forward([](Call2& call) { call.whole.call.theta = 2; }));
  EXPECT_FALSE(forward([](Call2& call) { call.roles[1] = SOFTCHECK_ROLE_MASK; }));
  EXPECT_FALSE(forward([&](Call2& call) { call.inputs[1] = &more.view; }));
  EXPECT_FALSE(forward([&](Call2& call) { call.inputs[1] = &narrow.view; }));
  EXPECT_FALSE(forward([&](Call2& call) { call.inputs[1] = &upstream.view; }));
  EXPECT_FALSE(forward([&](Call2& call) { call.outputs[0] = &longer.view; }));
  EXPECT_FALSE(forward([&](Call2& call) { call.add_input(upstream.view, SOFTCHECK_ROLE_CLASS_WEIGHTS); }));
  const auto backward = [&](const DLTensor& of, DLTensor& to) {
    return Call2(SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, {&x.view, &labels.view, &of}, loss_gradient_roles(), to).run();
  };
  EXPECT_TRUE(backward(upstream.view, out.view));
  EXPECT_FALSE(backward(longer.view, out.view));
  EXPECT_FALSE(backward(labels.view, out.view));
  EXPECT_FALSE(backward(upstream.view, loss.view));
}

// The gradients of softmax and log-softmax from saved outputs, where the exact result is a number of the format. The
// judge judges the rest.
enum class Output { apart, saved, gradient, strided };

template <class Bits>
std::vector<Bits> gradient_of(softcheck_op op, const std::vector<double>& y, const std::vector<double>& g,
                              Output where = Output::apart) {
  const auto n = static_cast<std::int64_t>(y.size());
  Tensor<Bits> saved(Stored<Bits>::type, {1, n}), gradient(Stored<Bits>::type, {1, n});
  saved.set(stored<Bits>(y));
  gradient.set(stored<Bits>(g));
  const std::int64_t step = where == Output::strided ? 3 : 1;
  Tensor<Bits> apart(Stored<Bits>::type, {1, n}, {n * step, step});
  Tensor<Bits>& out = where == Output::saved ? saved : where == Output::gradient ? gradient : apart;
  EXPECT_TRUE(Call2(op, {&saved.view, &gradient.view}, saved_roles(), out.view).run());
  return out.row(0);
}

constexpr Output everywhere[] = {Output::apart, Output::saved, Output::gradient, Output::strided};

// Multiples of 1/8 and small integers: every sum is exact.
TEST(CpuSavedBackward, GradientsAreExactWhereSumsAre) {
  for_each_type<float, double>([]<class Bits> {
    for (const std::size_t n : telling_sizes()) {
      std::vector<double> y(n), logs(n), g(n);
      double mean = 0, total = 0;
      for (std::size_t i = 0; i < n; ++i) {
        y[i] = static_cast<double>((i + 1) % 4) / 8;
        logs[i] = i % 3 == 0 ? 0 : -std::numeric_limits<double>::infinity();
        g[i] = static_cast<double>(i % 7) - 2;
        mean += y[i] * g[i];
        total += g[i];
      }
      std::vector<Bits> of_softmax, of_logs;
      for (std::size_t i = 0; i < n; ++i) {
        of_softmax.push_back(Stored<Bits>::of(y[i] * (g[i] - mean)));
        of_logs.push_back(Stored<Bits>::of(g[i] - (i % 3 == 0 ? total : 0)));
      }
      for (const Output where : everywhere) {
        const auto got = gradient_of<Bits>(SOFTCHECK_OP_SOFTMAX_BACKWARD, y, g, where);
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(got[i], of_softmax[i]) << n << " item " << i;
        EXPECT_TRUE(same_bits(gradient_of<Bits>(SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, logs, g, where), of_logs)) << n;
      }
    }
  });
}

// Whatever is saved: this is no log-probability.
TEST(CpuSavedBackward, ExponentialsBeyondThePassAreThoseOfTheLibrary) {
  const auto narrow = gradient_of<float>(SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, {80, 0}, {1, 0});
  EXPECT_TRUE(same_bits(narrow, {1 - std::exp(80.0F), -1.0F}));
  const auto wide = gradient_of<double>(SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, {700, 0}, {1, 0});
  EXPECT_TRUE(same_bits(wide, {1 - std::exp(700.0), -1.0}));
}

TEST(CpuSavedBackward, ANanReachesItsRow) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::size_t n : {1, 33, 897, 5000}) {
    for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<double> with(n, 0.0), without(n, 0.0);
      with[place] = nan;
      for (const softcheck_op op : {SOFTCHECK_OP_SOFTMAX_BACKWARD, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD}) {
        for (const float x : gradient_of<float>(op, without, with)) ASSERT_TRUE(std::isnan(x)) << n;
        ASSERT_TRUE(std::isnan(gradient_of<float>(op, with, without)[place])) << n;
      }
    }
  }
}

TEST(CpuSavedBackward, WhatIsNotSupportedIsRefused) {
  F32 y({2, 3}), g({2, 3}), out({2, 3}), longer({2, 4}), rows({2});
  Tensor<double> wide(dtype_of<double>(), {2, 3});
  const auto takes = [&](const DLTensor& gradient, DLTensor& to, std::vector<std::uint32_t> roles = saved_roles()) {
    return Call2(SOFTCHECK_OP_SOFTMAX_BACKWARD, {&y.view, &gradient}, std::move(roles), to).run();
  };
  EXPECT_TRUE(takes(g.view, out.view));
  EXPECT_FALSE(takes(g.view, out.view, {SOFTCHECK_ROLE_OUT_GRADIENT, SOFTCHECK_ROLE_SAVED}));
  EXPECT_FALSE(takes(longer.view, out.view));
  EXPECT_FALSE(takes(wide.view, out.view));
  EXPECT_FALSE(takes(rows.view, out.view));
  EXPECT_FALSE(takes(g.view, longer.view));
  EXPECT_FALSE(takes(g.view, wide.view));
}

}  // namespace
}  // namespace softcheck::kernel_tests

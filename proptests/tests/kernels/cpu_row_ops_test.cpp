// Rows of version 2: what a kernel refuses, and what its contract does not ask for. The judge judges the rest.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

constexpr double loss_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double loss_infinity = std::numeric_limits<double>::infinity();

struct Options {
  double label_smoothing = 0, softcap = 0;
};

/// The loss of one row of logits, f32 or f64, and its gradient.
template <class T>
std::vector<T> of_row(softcheck_op op, const std::vector<double>& logits, std::int64_t label, const Options& options) {
  const auto n = static_cast<std::int64_t>(logits.size());
  Tensor<T> x(dtype_of<T>(), {1, n}), upstream(dtype_of<T>(), {1}, {}, 0, T(1));
  Tensor<std::int64_t> y(label_type<std::int64_t>, {1}, {}, 0, label);
  x.set_row(0, stored<T>(logits));
  const bool backward = op == SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD;
  Tensor<T> out(dtype_of<T>(), backward ? x.shape : y.shape, {}, 0, T(-1));
  Call2 call(op, {&x.view, &y.view}, loss_roles(), out.view);
  if (backward) call.add_input(upstream.view, SOFTCHECK_ROLE_UPSTREAM);
  call.attributes.label_smoothing = options.label_smoothing;
  call.attributes.softcap = options.softcap;
  EXPECT_TRUE(call.run());
  return out.elements;
}
template <class T>
T loss_of(const std::vector<double>& logits, std::int64_t label, const Options& options = {}) {
  return of_row<T>(SOFTCHECK_OP_CROSS_ENTROPY, logits, label, options)[0];
}
std::vector<float> gradient_of(const std::vector<double>& logits, std::int64_t label, const Options& options) {
  return of_row<float>(SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, logits, label, options);
}

// A saturated logit is the cap, and has no slope; one of 0 stays 0, and has the slope 1.
TEST(CpuLosses, ASoftcapSaturatesAndLeavesZeroAsItIs) {
  for (const double smoothing : {0.0, 0.25}) {
    const Options capped{.label_smoothing = smoothing, .softcap = 4}, plain{.label_smoothing = smoothing};
    EXPECT_EQ(loss_of<float>({1e30, -1e30, 1e30}, 1, capped), loss_of<float>({4, -4, 4}, 1, plain));
    EXPECT_EQ(loss_of<double>({900, -900}, 0, capped), loss_of<double>({4, -4}, 0, plain));
    for (const float dx : gradient_of({1e30, -1e30, 1e30}, 1, capped)) EXPECT_EQ(dx, 0);
    EXPECT_TRUE(same_bits(gradient_of({0, 0, 0}, 1, capped), gradient_of({0, 0, 0}, 1, plain)));
  }
  EXPECT_EQ(loss_of<float>({3, -loss_infinity}, 0, {.softcap = 4}), 0);
  EXPECT_TRUE(std::isnan(loss_of<float>({3, loss_nan}, 0, {.softcap = 4})));
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

std::vector<float> saved_backward(const std::vector<float>& y, const std::vector<float>& g) {
  const auto n = static_cast<std::int64_t>(y.size());
  F32 saved({1, n}), gradient({1, n}), out({1, n});
  saved.set(y);
  gradient.set(g);
  EXPECT_TRUE(Call2(SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, {&saved.view, &gradient.view}, saved_roles(), out.view).run());
  return out.elements;
}

// Whatever is saved: this is no log-probability.
TEST(CpuSavedBackward, ExponentialsBeyondThePassAreThoseOfTheLibrary) {
  EXPECT_TRUE(same_bits(saved_backward({80, 0}, {1, 0}), {1 - std::exp(80.0F), -1.0F}));
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

// Rows of one class each, whose loss is z x^2 with z = 1.
template <class T>
T sum_of_squares(const std::vector<T>& logits, const char* threads = "1") {
  const auto rows = static_cast<std::int64_t>(logits.size());
  Tensor<T> x(dtype_of<T>(), {rows, 1}), loss(dtype_of<T>(), {1}, {}, 0, T(-1));
  x.set(logits);
  Tensor<std::int64_t> y(label_type<std::int64_t>, {rows});
  Call2 call(SOFTCHECK_OP_CROSS_ENTROPY_MEAN, {&x.view, &y.view}, loss_roles(), loss.view);
  call.attributes.z_loss = 1;
  on_threads({threads}, [&] { EXPECT_TRUE(call.run()); });
  return loss.elements[0];
}

// A double of 2^54 holds no 1 more, and a float of 2^30 none.
TEST(CpuMeans, SmallLossesAreNotLostBesideALargeOne) {
  std::vector<double> wide(17, 1);
  wide[0] = 0x1p27;
  EXPECT_EQ(sum_of_squares(wide), 0x1p54 + 16);
  std::vector<float> narrow(1025, 1);
  narrow[0] = 0x1p15F;
  for (const char* threads : {"1", "7"}) EXPECT_EQ(sum_of_squares(narrow, threads), 0x1p30F + 1024);
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

constexpr DLDataType id_type = {kDLInt, 32, 1};

TEST(CpuTopk, WhatIsNotSupportedIsRefused) {
  F32 logits({2, 3}), weights({2, 2}), more({2, 4});
  Tensor<std::int32_t> ids(id_type, {2, 2}), of_four(id_type, {2, 4}), of_one(id_type, {1, 2});
  Tensor<std::int64_t> wide({kDLInt, 64, 1}, {2, 2});
  const auto takes = [&](DLTensor& first, DLTensor* second, std::int32_t k) {
    Call2 call(SOFTCHECK_OP_TOPK_SOFTMAX, {&logits.view}, {SOFTCHECK_ROLE_LOGITS}, first);
    if (second != nullptr) call.outputs.push_back(second);
    call.attributes.k = k;
    return call.run();
  };
  EXPECT_TRUE(takes(weights.view, &ids.view, 2));
  EXPECT_FALSE(takes(weights.view, &ids.view, 1));
  EXPECT_FALSE(takes(weights.view, &ids.view, -1));
  EXPECT_FALSE(takes(more.view, &of_four.view, 4));
  EXPECT_FALSE(takes(weights.view, &of_one.view, 2));
  EXPECT_FALSE(takes(weights.view, &wide.view, 2));
  EXPECT_FALSE(takes(weights.view, &weights.view, 2));
  EXPECT_FALSE(takes(weights.view, nullptr, 2));
}

TEST(CpuMerge, WhatIsNotSupportedIsRefused) {
  F32 outputs({2, 3, 4}), lse({2, 3}), out({3, 4}), log({3}), narrow({3, 3}), fewer({1, 3}), short_log({2}),
      flat({6, 4});
  Tensor<double> wide(dtype_of<double>(), {2, 3});
  const auto takes = [&](DLTensor& first, DLTensor& second, DLTensor& to, DLTensor* to_lse,
                         std::uint32_t role = SOFTCHECK_ROLE_LSE) {
    Call2 call(SOFTCHECK_OP_MERGE_STATES, {&first, &second}, {SOFTCHECK_ROLE_OUT, role}, to);
    if (to_lse != nullptr) call.outputs.push_back(to_lse);
    return call.run();
  };
  EXPECT_TRUE(takes(outputs.view, lse.view, out.view, &log.view));
  EXPECT_FALSE(takes(flat.view, lse.view, out.view, &log.view));
  EXPECT_FALSE(takes(outputs.view, fewer.view, out.view, &log.view));
  EXPECT_FALSE(takes(outputs.view, wide.view, out.view, &log.view));
  EXPECT_FALSE(takes(outputs.view, lse.view, narrow.view, &log.view));
  EXPECT_FALSE(takes(outputs.view, lse.view, out.view, &short_log.view));
  EXPECT_FALSE(takes(outputs.view, lse.view, out.view, nullptr));
  EXPECT_FALSE(takes(outputs.view, lse.view, out.view, &log.view, SOFTCHECK_ROLE_LOGITS));
}

}  // namespace
}  // namespace softcheck::kernel_tests

// The backward kernels on the emulator: clean and with the same bits under every schedule, and within a bound derived
// from their operations of gradients that automatic differentiation finds.
#include "kernels/block/attention_backward.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "kernels/emulator/block.hpp"
#include "proptests/tests/emulator/backward_reference.hpp"
#include "proptests/tests/emulator/strict_formats.hpp"

namespace softcheck::emulator_tests {
namespace {

using kernel_tests::Tensor;

template <class Element>
long double wide(typename Format<Element>::Bits bits) {
  if constexpr (sizeof(Element) == 2) {
    return kernels::widened(Element{bits});
  } else {
    return bits;
  }
}

template <class Element>
struct BackwardCall {
  using Bits = typename Format<Element>::Bits;
  static constexpr DLDataType type = Format<Element>::type;

  BackwardCall(BackwardProblem shape, double spread)
      : problem(std::move(shape)),
        q(type, {problem.batch, problem.heads, problem.queries, problem.dim}),
        k(type, {problem.batch, problem.key_heads, problem.keys, problem.dim}),
        v(type, {problem.batch, problem.key_heads, problem.keys, problem.value_dim}),
        d_out(type, {problem.batch, problem.heads, problem.queries, problem.value_dim}),
        dq(type, q.shape),
        dk(type, k.shape),
        dv(type, v.shape),
        mask(kernel_tests::mask_type, {problem.batch, problem.heads, problem.queries, problem.keys}) {
    std::mt19937 random(static_cast<unsigned>(problem.keys));
    std::normal_distribution<double> normal(0, 1);
    const auto fill = [&](Tensor<Bits>& tensor, std::vector<long double>& exact, double size) {
      exact.clear();
      // At least one element stands in the buffer of an empty tensor.
      std::size_t count = 1;
      for (const std::int64_t extent : tensor.shape) count *= static_cast<std::size_t>(extent);
      for (std::size_t i = 0; i < count; ++i) {
        tensor.elements[i] = rounded_to<Element>(size * normal(random));
        exact.push_back(wide<Element>(tensor.elements[i]));
      }
    };
    fill(q, problem.q, spread);
    fill(k, problem.k, 1);
    fill(v, problem.v, 1);
    fill(d_out, problem.d_out, 1);
    for (std::uint8_t& visible : mask.elements) visible = random() % 5 != 0;
    // The first query sees nothing.
    std::fill_n(mask.elements.begin(), problem.keys, std::uint8_t{0});
    problem.mask = mask.elements;
  }

  void run(bool adaptive) {
    const std::string symbol =
        std::string("softcheck_emulated_") + (adaptive ? "adaptive_" : "") + "attention_backward";
    const softcheck_kernel kernel = kernel_tests::load_kernel("softcheck_emulated_kernels", symbol);
    ASSERT_NE(kernel, nullptr);
    ASSERT_TRUE(kernel_tests::takes_call(kernel, {&q.view, &k.view, &v.view, &d_out.view, &mask.view},
                                         {&dq.view, &dk.view, &dv.view}, static_cast<double>(problem.scale),
                                         problem.causal));
  }

  // How many results lie outside of their bounds; 0 if all is well.
  int outside() {
    using T = kernels::Accumulator<Element>;
    const long double u = std::numeric_limits<T>::epsilon() / 2.0L;
    const BoundedGradients bounds = bounded_gradients(problem, u);
    return outside(dq, bounds.q) + outside(dk, bounds.k) + outside(dv, bounds.v);
  }

  static int outside(const Tensor<Bits>& found, const std::vector<Bounded>& bounds) {
    // Of the tensors' format: its unit roundoff and half its smallest number.
    constexpr bool half = std::is_same_v<Element, Half>, bfloat = std::is_same_v<Element, BFloat>;
    const long double u = half ? 0x1p-11L : bfloat ? 0x1p-8L : sizeof(Element) == 4 ? 0x1p-24L : 0x1p-53L;
    const long double least = half ? 0x1p-25L : sizeof(Element) == 8 ? 0x1p-1075L : bfloat ? 0x1p-134L : 0x1p-150L;
    int count = 0;
    long double largest = 0, widest = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const Bounded allowed = rounded(bounds[i], u);
      if (!(std::abs(wide<Element>(found.elements[i]) - allowed.value) <= allowed.error + least)) ++count;
      largest = std::max(largest, std::abs(bounds[i].value));
      widest = std::max(widest, bounds[i].error);
    }
    // A bound that says nothing is no bound; a query of one key has no gradient.
    EXPECT_TRUE(largest == 0 || widest <= largest / 100) << widest << " of " << largest;
    return count;
  }

  BackwardProblem problem;
  Tensor<Bits> q, k, v, d_out, dq, dk, dv;
  Tensor<std::uint8_t> mask;
};

BackwardProblem shape_of(std::int64_t queries, std::int64_t keys, bool causal, bool adaptive) {
  return {2, 4, 2, queries, keys, 5, 7, causal, adaptive, 0.5L, {}, {}, {}, {}, {}};
}

template <class Element>
class AttentionBackward : public testing::Test {};
TYPED_TEST_SUITE(AttentionBackward, StrictElements);

// Labelled full: AttentionBackward*.IsWithinTheBoundOfItsOperations
TYPED_TEST(AttentionBackward, IsWithinTheBoundOfItsOperations) {
  for (const std::int64_t keys : {1, 2, 40, 150}) {
    for (const bool causal : {false, true}) {
      for (const bool adaptive : {false, true}) {
        for (const double spread : {0.3, 2.0}) {
          BackwardCall<TypeParam> call(shape_of(3, keys, causal, adaptive), spread);
          call.run(adaptive);
          EXPECT_EQ(call.outside(), 0) << keys << " keys, causal " << causal << ", adaptive " << adaptive;
        }
      }
    }
  }
}

// More queries than a block has threads.
// Labelled full: AttentionBackward*.IsWithinTheBoundForManyQueries
TYPED_TEST(AttentionBackward, IsWithinTheBoundForManyQueries) {
  for (const bool causal : {false, true}) {
    BackwardCall<TypeParam> call(shape_of(140, 9, causal, true), 1);
    call.run(true);
    EXPECT_EQ(call.outside(), 0);
  }
}

// The test can fail: what adaptive attention's gradient is without that of beta, and what no gradient is.
TEST(AttentionBackwardPlanted, BetaHeldFixedIsOutside) {
  BackwardCall<float> call(shape_of(3, 150, false, true), 0.3);
  call.run(false);
  EXPECT_GT(call.outside(), 0);
}

// The formulas that the bounds are around, against automatic differentiation of attention's definition.
TEST(AttentionBackwardReference, IsTheDerivative) {
  for (const bool adaptive : {false, true}) {
    BackwardCall<double> call(shape_of(3, 40, true, adaptive), 0.5);
    const BackwardProblem& p = call.problem;
    const BoundedGradients found = bounded_gradients(p, 0x1p-64L);
    std::vector<Dual> inputs[3];
    const std::vector<long double>* values[] = {&p.q, &p.k, &p.v};
    const std::vector<Bounded>* gradients[] = {&found.q, &found.k, &found.v};
    for (int t = 0; t < 3; ++t) {
      for (const long double x : *values[t]) inputs[t].push_back(constant(x));
    }
    for (int t = 0; t < 3; ++t) {
      for (std::size_t i = 0; i < inputs[t].size(); i += 7) {
        inputs[t][i].slope = 1;
        const Dual all = loss(p, inputs[0], inputs[1], inputs[2], [](auto...) { return true; });
        inputs[t][i].slope = 0;
        // Both are computed in long doubles by as many operations: either may err by the bound, which is of that
        // format.
        EXPECT_LE(std::abs(all.slope - (*gradients[t])[i].value), 2 * (*gradients[t])[i].error)
            << "tensor " << t << ", element " << i;
      }
    }
  }
}

template <bool adaptive>
void expect_clean(bool causal) {
  using kernels::emulator::Block;
  namespace emulator = kernels::emulator;
  BackwardCall<float> call(shape_of(3, 150, causal, adaptive), 1);
  const BackwardProblem& p = call.problem;
  kernels::GradientArguments<Block, float> arguments;
  const auto tensor = [](auto& from) {
    using View = emulator::GlobalView<std::remove_reference_t<decltype(from.elements[0])>>;
    const auto& s = from.shape;
    return kernels::Tensor4<View>{View(std::span(from.elements)), {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}};
  };
  const auto& constant_call = call;
  arguments.forward.q = tensor(constant_call.q);
  arguments.forward.k = tensor(constant_call.k);
  arguments.forward.v = tensor(constant_call.v);
  arguments.forward.mask = tensor(constant_call.mask);
  arguments.d_out = tensor(constant_call.d_out);
  arguments.dq = tensor(call.dq);
  arguments.dk = tensor(call.dk);
  arguments.dv = tensor(call.dv);
  arguments.forward.masked = true;
  arguments.forward.causal = causal;
  arguments.forward.batch = p.batch;
  arguments.forward.heads = p.heads;
  arguments.forward.key_heads = p.key_heads;
  arguments.forward.queries = p.queries;
  arguments.forward.keys = p.keys;
  arguments.forward.dim = p.dim;
  arguments.forward.value_dim = p.value_dim;
  arguments.forward.scale = 0.5F;
  std::vector<kernels::QueryGradient<float>> kept(static_cast<std::size_t>(p.batch * p.heads * p.queries));
  arguments.queries = std::span(kept);
  const emulator::LaunchShape shape{3, kernels::attention_threads, kernels::gradient_bytes<float>(p.dim, p.value_dim)};
  const std::span<std::byte> of_queries[] = {std::as_writable_bytes(std::span(call.dq.elements)),
                                             std::as_writable_bytes(std::span(kept))};
  const std::span<std::byte> of_keys[] = {std::as_writable_bytes(std::span(call.dk.elements)),
                                          std::as_writable_bytes(std::span(call.dv.elements))};
  const auto queries = emulator::launch_under_all_schedules(
      shape, of_queries, [&](Block& block) { kernels::query_backward_body<adaptive>(block, arguments); }, 1);
  EXPECT_TRUE(queries.clean()) << queries.text();
  const auto keys = emulator::launch_under_all_schedules(
      shape, of_keys, [&](Block& block) { kernels::key_backward_body<adaptive>(block, arguments); }, 1);
  EXPECT_TRUE(keys.clean()) << keys.text();
}

// Labelled full: AttentionBackwardSchedules.AreCleanAndTheSame
TEST(AttentionBackwardSchedules, AreCleanAndTheSame) {
  for (const bool causal : {false, true}) {
    expect_clean<false>(causal);
    expect_clean<true>(causal);
  }
}

// A query without a result has no gradient, and what it sees has none either; what it does not see keeps its own.
TEST(AttentionBackwardUndefined, StaysWithWhatIsSeen) {
  BackwardCall<float> call(shape_of(3, 20, false, false), 1);
  // Query 1 of head 0 sees keys 0 to 9, none else of its key head sees key 0.
  const auto n = static_cast<std::size_t>(call.problem.keys);
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t j = 0; j < n; ++j) call.mask.elements[row * n + j] = row == 1 ? j < 10 : j >= 10;
  }
  call.q.elements[5] = std::nanf("");
  call.run(false);
  for (std::size_t c = 0; c < 5; ++c) {
    EXPECT_TRUE(std::isnan(call.dq.elements[5 + c]));
    EXPECT_FALSE(std::isnan(call.dq.elements[c]));
    EXPECT_TRUE(std::isnan(call.dk.elements[9 * 5 + c]));
    EXPECT_FALSE(std::isnan(call.dk.elements[10 * 5 + c]));
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests

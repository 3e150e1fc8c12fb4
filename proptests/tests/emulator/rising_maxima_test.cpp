// Rows and scores that rise slowly, for which a maximum is replaced thousands of times by one that is nearly the same:
// factors that all err the same way would add up. Of the strict mode, whose bits are the emulated bodies'.
#include <gtest/gtest.h>

#include <deque>

#include "proptests/tests/emulator/exact_sums.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::emulator_tests {
namespace {

using kernel_tests::dtype_of;
using F32 = kernel_tests::Tensor<float>;

/// The results of a strict kernel, count of them, one number each; outputs: those before.
std::vector<float> results_of(const std::string& op, const std::vector<const DLTensor*>& inputs,
                              const std::vector<std::int64_t>& shape, std::size_t count,
                              std::vector<DLTensor*> outputs = {}) {
  std::deque<F32> results;
  for (std::size_t i = 0; i < count; ++i) outputs.push_back(&results.emplace_back(dtype_of<float>(), shape).view);
  const softcheck_kernel kernel = kernel_tests::load_kernel("softcheck_strict_kernels", "softcheck_strict_" + op);
  EXPECT_TRUE(kernel_tests::takes_call(kernel, inputs, outputs, 1, false)) << op;
  std::vector<float> numbers;
  for (const F32& result : results) numbers.push_back(result.elements[0]);
  return numbers;
}

constexpr double ranges[] = {5, 20, 60};

TEST(RisingMaxima, OfARowLeaveItsSumsAndItsEntropyExact) {
  constexpr std::int64_t n = std::int64_t{1} << 20;
  for (const double range : ranges) {
    const std::vector<float> row = rising_row(n, range);
    const ExactSums exact(row);
    F32 logits(dtype_of<float>(), {1, n});
    logits.set_row(0, row);
    const std::vector<float> statistics = results_of("row_statistics", {&logits.view}, {1}, 4);
    EXPECT_EQ(statistics[0], exact.maximum) << range;
    for (int k = 0; k < 3; ++k) {
      EXPECT_LE(std::abs(statistics[static_cast<std::size_t>(k) + 1] - exact.sums[k]), exact.allowed<float>(k))
          << "k = " << k << ", up to " << range;
    }
    EXPECT_LE(std::abs(results_of("entropy", {&logits.view}, {1}, 1)[0] - exact.entropy()), promised_nats) << range;
    EXPECT_LE(std::abs(results_of("logsumexp", {&logits.view}, {1}, 1)[0] - exact.logsumexp()),
              exact.allowed_of_logsumexp<float>())
        << range;
  }
}

TEST(RisingMaxima, OfAQuerysScoresLeaveItsNumbersExact) {
  constexpr std::int64_t n = std::int64_t{1} << 17;
  for (const double range : ranges) {
    const ExactSums exact(rising_row(n, range));
    F32 q(dtype_of<float>(), {1, 1, 1, 1}), k(dtype_of<float>(), {1, 1, n, 1}), v(dtype_of<float>(), {1, 1, n, 1}),
        out(dtype_of<float>(), q.shape);
    q.elements[0] = 1;
    k.elements = rising_row(n, range);
    k.view.data = k.elements.data();
    std::ranges::fill(v.elements, 1.0F);
    for (const std::string op : {"attention", "split_attention"}) {
      const std::vector<float> found = results_of(op, {&q.view, &k.view, &v.view}, {1, 1, 1}, 2, {&out.view});
      EXPECT_LE(std::abs(found[0] - exact.logsumexp()), exact.allowed_of_logsumexp<float>()) << op << " " << range;
      EXPECT_LE(std::abs(found[1] - exact.entropy()), promised_nats) << op << " " << range;
      // The weights' sum over the weights' sum: each may be wrong, and a reciprocal and a product round.
      EXPECT_LE(std::abs(out.elements[0] - 1), 2 * exact.allowed<float>(0) / exact.sum() + 2 * exact.unit<float>)
          << op << " " << range;
    }
    const std::vector<float> statistics = results_of("attention_statistics", {&q.view, &k.view}, {1, 1, 1}, 4);
    for (int i = 0; i < 3; ++i) {
      EXPECT_LE(std::abs(statistics[static_cast<std::size_t>(i) + 1] - exact.sums[i]), exact.allowed<float>(i))
          << "attention_statistics, k = " << i << ", up to " << range;
    }
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests

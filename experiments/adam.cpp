#include "experiments/adam.hpp"

#include <cmath>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace softcheck::experiments {
namespace {

constexpr double beta1 = 0.9, epsilon = 1e-8;

}  // namespace

AdamStep::AdamStep(double learning_rate, double beta_2, std::int64_t step)
    : beta2(static_cast<float>(beta_2)), beta2_rest(static_cast<float>(1 - beta_2)) {
  const auto t = static_cast<double>(step + 1);
  rate = static_cast<float>(learning_rate / (1 - std::pow(beta1, t)));
  correction = static_cast<float>(1 / std::sqrt(1 - std::pow(beta_2, t)));
}

void adam(const AdamStep& step, TrainingState& state, const Floats& gradient, std::size_t begin, std::size_t end,
          float coupled, float decoupled) {
  const float rate = step.rate, correction = step.correction, beta2 = step.beta2, beta2_rest = step.beta2_rest;
  float* const w = state.parameters.data();
  float* const m = state.first_moment.data();
  float* const v = state.second_moment.data();
  const float* const g = gradient.data();
  for (std::size_t i = begin; i < end; ++i) {
    const float slope = g[i] + coupled * w[i];
    m[i] = static_cast<float>(beta1) * m[i] + static_cast<float>(1 - beta1) * slope;
    v[i] = beta2 * v[i] + beta2_rest * slope * slope;
    w[i] -= rate * m[i] / (std::sqrt(v[i]) * correction + static_cast<float>(epsilon)) + decoupled * w[i];
  }
}

#if defined(__x86_64__)
FlushSubnormals::FlushSubnormals() : before_(_mm_getcsr()) {
  _mm_setcsr(before_ | 0x8040);  // flush-to-zero, denormals-are-zero
}
FlushSubnormals::~FlushSubnormals() { _mm_setcsr(before_); }
#elif defined(__aarch64__)
FlushSubnormals::FlushSubnormals() {
  std::uint64_t fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  before_ = static_cast<unsigned>(fpcr);                                // its upper half is reserved
  __asm__ volatile("msr fpcr, %0" ::"r"(fpcr | 0x1000000) : "memory");  // FZ
}
FlushSubnormals::~FlushSubnormals() {
  __asm__ volatile("msr fpcr, %0" ::"r"(static_cast<std::uint64_t>(before_)) : "memory");
}
#else
FlushSubnormals::FlushSubnormals() = default;
FlushSubnormals::~FlushSubnormals() = default;
#endif

}  // namespace softcheck::experiments

// Attention by tensor cores against f64 attention.
#include <algorithm>
#include <sstream>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/bench/gpu/correctness.hpp"
#include "kernels/bench/gpu/narrow_scores.hpp"

namespace softcheck::kernels::gpu {
namespace {

// beta's Lipschitz constant in the entropy, rounded up.
constexpr double steepest_beta = 2.52543;

struct Temperature {
  double beta = 1, error = 0;
};

// What the entropy may err by moves beta: by its scores, by the sums of a row's statistics as the emulator's tests have
// them.
Temperature temperature_of(const NarrowScores& row, double m, double m_error, double rises) {
  double s = 0, t = 0, squares = 0;
  for (const double x : row.x) {
    const double d = m - x, w = std::exp(-d);
    s += w;
    t += w * d;
    squares += w * d * d;
  }
  double moved = 0;
  for (std::size_t j = 0; j < row.x.size(); ++j) {
    const double d = m - row.x[j];
    moved += std::exp(-d) / s * std::abs(d - t / s) * (row.error[j] + m_error);
  }
  const double of_s = u * (6 + 4 * rises), of_t = u * ((8 + 7 * rises) * t + squares) / s;
  const double entropy_error = 1.01 * moved + of_s * (1 + t / s) + of_t;
  return {arithmetic::adaptive_beta(std::log(s) + t / s), steepest_beta * entropy_error + u * 4};
}

/// How far column c of the output may lie from the exact one.
std::vector<double> allowed_errors(const NarrowProblem& p, const HostTensor& v, std::int64_t head,
                                   const NarrowScores& row, bool adaptive) {
  const Format format = v.format();
  const double narrow = format == Format::f16 ? 0x1p-11 : 0x1p-8, least = format == Format::f16 ? 0x1p-25 : 0x1p-134;
  const double m = row.largest(), m_error = row.largest_error();
  const double widest = m - *std::ranges::min_element(row.x);
  const double rises = std::ceil(static_cast<double>(row.x.size()) / keys_of_tile) + 7;
  const Temperature at = adaptive ? temperature_of(row, m, m_error, rises) : Temperature{};
  // Rescalings, each an exponential and a product; their arguments add up to no more than the widest.
  const double rescaled = rises * 4 * u + u * widest;
  std::vector<double> w, error;
  double s = 0, s_error = 0;
  for (std::size_t j = 0; j < row.x.size(); ++j) {
    const double d = m - row.x[j];
    const double z = at.beta * (row.error[j] + m_error + u * d) + d * at.error + 2 * u * at.beta * d;
    w.push_back(std::exp(-at.beta * d));
    error.push_back(w.back() * (std::expm1(z) + 2 * u * std::exp(z)));
    s += w.back();
    s_error += error.back();
  }
  const double relative = s_error / s + 4 * u + rescaled;
  const double steps = std::ceil(static_cast<double>(row.x.size()) / keys_of_tile) * keys_of_tile / products_of_step;
  std::vector<double> allowed;
  for (std::int64_t c = 0; c < p.value_dim; ++c) {
    double sum = 0, size = 0, sum_error = 0;
    for (std::size_t j = 0; j < row.x.size(); ++j) {
      const double value = v.at((static_cast<std::size_t>(head * p.keys) + j) * static_cast<std::size_t>(p.value_dim) +
                                static_cast<std::size_t>(c));
      sum += w[j] * value;
      size += (w[j] + error[j]) * std::abs(value);
      sum_error += std::abs(value) * (error[j] + narrow * (w[j] + error[j]) + least);
    }
    sum_error += (steps * step_error + rescaled) * size;
    const double out = std::abs(sum / s);
    const double before = (sum_error / s + out * (relative + 2 * u)) / (1 - relative);
    allowed.push_back(before + narrow * (out + before) + least);
  }
  return allowed;
}

Comparison compared(const Kernels& kernels, Format format, const NarrowProblem& p, bool adaptive) {
  Comparison found{kernels.name, to_string(format), kernels.reference_name, text_of(p), false, {}};
  HostTensor q(format, {1, p.heads, p.queries, p.dim}), k(format, {1, p.heads, p.keys, p.dim}),
      v(format, {1, p.heads, p.keys, p.value_dim});
  fill_normal(q, 1, 1);
  fill_normal(k, 1, 2);
  fill_normal(v, 1, 3);
  HostTensor wide[3] = {{Format::f64, {1, p.heads, p.queries, p.dim}},
                        {Format::f64, {1, p.heads, p.keys, p.dim}},
                        {Format::f64, {1, p.heads, p.keys, p.value_dim}}};
  for (auto [from, to] : {std::pair(&q, &wide[0]), std::pair(&k, &wide[1]), std::pair(&v, &wide[2])}) {
    for (std::size_t i = 0; i < from->count(); ++i) to->set(i, from->at(i));
  }
  HostTensor out(format, {1, p.heads, p.queries, p.value_dim}),
      exact(Format::f64, {1, p.heads, p.queries, p.value_dim});
  if (call_kernel(kernels.judged, {&q, &k, &v}, {&out}, 1, p.scale, p.causal) != 0 ||
      call_kernel(kernels.reference, {&wide[0], &wide[1], &wide[2]}, {&exact}, 1, p.scale, p.causal) != 0) {
    found.detail = "refused";
    return found;
  }
  double used = 0, widest = 0, largest = 0;
  for (std::int64_t head = 0; head < p.heads; ++head) {
    for (std::int64_t query = 0; query < p.queries; ++query) {
      const std::vector<double> allowed = allowed_errors(p, v, head, scores_of(p, q, k, head, query), adaptive);
      for (std::int64_t c = 0; c < p.value_dim; ++c) {
        const auto i = static_cast<std::size_t>((head * p.queries + query) * p.value_dim + c);
        const double part = std::abs(out.at(i) - exact.at(i)) / allowed[static_cast<std::size_t>(c)];
        used = part <= used ? used : part;  // a NaN stays
        widest = std::max(widest, allowed[static_cast<std::size_t>(c)]);
        largest = std::max(largest, std::abs(exact.at(i)));
      }
    }
  }
  std::ostringstream detail;
  detail << used << " of the bound";
  // Reports a bound as wide as the results, which tests nothing.
  if (widest > largest) detail << ", which is as wide as the results";
  found.detail = detail.str();
  found.holds = used <= 1 && widest <= largest;
  return found;
}

}  // namespace

void compare_narrow_weights(const Kernels& kernels, bool adaptive, std::vector<Comparison>& found) {
  for (const Format format : {Format::f16, Format::bf16}) {
    for (const NarrowProblem& p : narrow_problems) {
      found.push_back(compared(kernels, format, p, adaptive));
    }
  }
}

}  // namespace softcheck::kernels::gpu

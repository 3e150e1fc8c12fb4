#pragma once

#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "proptests/tests/kernels/attention_expected.hpp"

// The gradient of attention in 50 digits, and how near acc=f32 (f64) exp=1ulp sum=blocks:128 must come to it: derived,
// with the same letters, in docs/tolerances/attention_gradient.md.
namespace softcheck::kernel_tests {

using Real =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<50, boost::multiprecision::allocate_stack>,
                                  boost::multiprecision::et_off>;

inline double to_double(const Real& x) { return static_cast<double>(x); }
inline double magnitude(const Real& x) { return std::fabs(static_cast<double>(x)); }

/// What is computed of one query's scores, row for row of the letters in the document.
struct GradientRow {
  std::vector<std::size_t> seen;       // the keys that it sees
  std::vector<Real> p, dx;             // of these
  std::vector<double> p_error, error;  // |computed p - p|, |computed dx - dx|
  bool holds_nan = false;              // in dx; and in p, too:
  bool weights_nan = false;
};

struct GradientCase {
  AttentionProblem problem;
  std::vector<double> incoming;  // like out
  bool adaptive = false;
  numerics::Contract contract;
  double keys_of_block = 128;  // keys whose sums are merged with those of others
};

/// beta of an entropy and its slope there (Fig. 4, thousandths), the kink's side that the kernels take: 0.
struct ExactBeta {
  Real value = 1, slope = 0, polynomial_slope = 0;

  explicit ExactBeta(const Real& entropy) {
    Real sum = 0;
    for (const int a : {-37, 481, -2300, 4917, -1791}) {
      polynomial_slope = polynomial_slope * entropy + sum;
      sum = sum * entropy + Real(a) / 1000;
    }
    if (entropy > Real(1) / 2 && sum > 1) {
      value = sum;
      slope = polynomial_slope;
    }
  }
};

inline std::vector<Real> softmax_of(const std::vector<Real>& x, const Real& beta) {
  std::vector<Real> w;
  Real sum = 0;
  const Real m = *std::max_element(x.begin(), x.end());
  for (const Real& value : x) {
    w.push_back(exp(beta * (value - m)));
    sum += w.back();
  }
  for (Real& value : w) value /= sum;
  return w;
}

inline Real entropy_of(const std::vector<Real>& p) {
  Real sum = 0;
  for (const Real& value : p) {
    if (value > 0) sum -= value * log(value);
  }
  return sum;
}

/// Row by row; see the document for each line.
class RowGradient {
 public:
  RowGradient(const GradientCase& c, std::int64_t b, std::int64_t h, std::int64_t i) : case_(c) {
    const AttentionProblem& p = c.problem;
    const std::vector<std::uint8_t> visible = p.visible(b, h, i);
    for (std::size_t j = 0; j < visible.size(); ++j) {
      if (visible[j] != 0) row_.seen.push_back(j);
    }
    const auto at = [](std::int64_t place, std::int64_t width) { return static_cast<std::size_t>(place * width); };
    const double* q = p.q.data() + at((b * p.heads + h) * p.queries + i, p.dim);
    const double* incoming = c.incoming.data() + at((b * p.heads + h) * p.queries + i, p.value_dim);
    const std::int64_t first = (b * p.key_heads + p.key_head(h)) * p.keys;
    for (const std::size_t j : row_.seen) {
      const double* k = p.k.data() + at(first + static_cast<std::int64_t>(j), p.dim);
      const double* v = p.v.data() + at(first + static_cast<std::int64_t>(j), p.value_dim);
      add_key(q, k, incoming, v);
    }
    row_.holds_nan = row_.holds_nan || row_.weights_nan;
    if (row_.seen.empty() || row_.holds_nan) {
      if (!row_.seen.empty() && !row_.weights_nan) {
        find_weights();  // of values that are NaN, dv is none
      }
      return;
    }
    find_weights();
    find_gradient();
  }
  const GradientRow& row() const { return row_; }

 private:
  using Doubles = std::vector<double>;

  void add_key(const double* q, const double* k, const double* incoming, const double* v) {
    const AttentionProblem& p = case_.problem;
    Real score = 0, g = 0;
    double score_size = 0, g_size = 0;
    for (std::int64_t t = 0; t < p.dim; ++t) {
      row_.weights_nan = row_.weights_nan || std::isnan(q[t]) || std::isnan(k[t]);
      score += Real(q[t]) * k[t];
      score_size += std::fabs(q[t] * k[t]);
    }
    for (std::int64_t t = 0; t < p.value_dim; ++t) {
      row_.holds_nan = row_.holds_nan || std::isnan(incoming[t]) || std::isnan(v[t]);
      g += Real(incoming[t]) * v[t];
      g_size += std::fabs(incoming[t] * v[t]);
    }
    x_.push_back(score * p.scale);
    g_.push_back(g);
    const numerics::AttentionArithmetic arithmetic{static_cast<std::uint64_t>(p.dim), p.scale,
                                                   case_.contract.accumulator, 0};
    e_.push_back(row_.weights_nan ? 0 : upper(score_error(case_.contract, arithmetic, UpperBound(score_size))));
    gamma_.push_back(std::expm1(static_cast<double>(p.value_dim + 1) * lambda_) * g_size);
  }

  // D, eta; beta and its errors; p and its.
  void find_weights() {
    const Real m = *std::max_element(x_.begin(), x_.end());
    const double e_max = *std::max_element(e_.begin(), e_.end());
    for (std::size_t j = 0; j < x_.size(); ++j) {
      d_.push_back(m - x_[j]);
      const double a = e_[j] + e_max;
      eta_.push_back(a + u_ * (to_double(d_[j]) + a));
    }
    if (case_.adaptive) find_beta();
    p_ = softmax_of(x_, beta_.value);
    const double b = to_double(beta_.value);
    Doubles s;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      const double d = to_double(d_[j]) + eta_[j];
      omega_.push_back(b * eta_[j] + tau_ * d + u_ * (b + tau_) * d + lambda_exp_);
      s.push_back(omega_[j] + summation());
    }
    sigma_ = log_mean(p_, s);
    for (std::size_t j = 0; j < x_.size(); ++j) {
      row_.p_error.push_back(to_double(p_[j]) * std::expm1(omega_[j] + sigma_ + 2 * lambda_) + 2 * floor_);
    }
    row_.p = p_;
  }

  void find_beta() {
    q_ = softmax_of(x_, 1);
    const Real entropy = entropy_of(q_);
    const double h = to_double(entropy);
    const double rescalings = std::ceil(std::log2(blocks()));
    Doubles s;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      omega_1_.push_back(eta_[j] + u_ * (to_double(d_[j]) + eta_[j]) + lambda_exp_);
      s.push_back(omega_1_[j] + (height() + 1) * lambda_ + rescalings * (lambda_exp_ + 2 * lambda_));
    }
    sigma_1_ = log_mean(q_, s);
    mean_1_ = sum(q_, d_);
    for (std::size_t j = 0; j < x_.size(); ++j) {
      mean_1_error_ +=
          to_double(q_[j]) * grown(s[j] + sigma_1_ + (rescalings + 3) * lambda_, to_double(d_[j]), eta_[j]);
    }
    const double entropy_error = sigma_1_ + mean_1_error_ + 4 * u_ * (1 + h);
    double size = 0, slope_size = 0;
    for (const double a : {0.037, 0.481, 2.3, 4.917, 1.791}) {
      slope_size = slope_size * h + size;
      size = size * h + a;
    }
    beta_ = ExactBeta(entropy);
    const double moved = 2.526 * entropy_error + 0x1p-49 * size;
    // The kinks, where the quartic is 1: either side may be taken.
    const double quartic = (((-0.037 * h + 0.481) * h - 2.3) * h + 4.917) * h - 1.791;
    const bool at_kink = std::fabs(quartic - 1) <= moved;
    if (beta_.slope == 0 && !at_kink) return;
    tau_ = moved + u_ * to_double(beta_.value);
    slope_error_ = 4.6 * entropy_error + 0x1p-49 * slope_size;
    if (at_kink) slope_error_ += magnitude(beta_.polynomial_slope) + slope_error_;
  }

  void find_gradient() {
    const Real mean_g = sum(p_, g_);
    const double b = to_double(beta_.value);
    double mean_error = 0, mean_d_error = 0, product_error = 0, product_size = 0;
    Real mean_d = sum(p_, d_), product = 0;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      const double mu = omega_[j] + sigma_ + summation() + 2 * lambda_;
      const double p = to_double(p_[j]), g = magnitude(g_[j]), d = to_double(d_[j]);
      mean_error += p * grown(mu, g, gamma_[j]) + 2 * floor_ * (g + gamma_[j]);
      mean_d_error += p * grown(mu + lambda_, d, eta_[j]);
      product_error += p * (std::exp(mu + 2 * lambda_) * (g + gamma_[j]) * (d + eta_[j]) - g * d);
      product_size += p * g * d;
      product += p_[j] * g_[j] * d_[j];
    }
    mean_error += u_ * (magnitude(mean_g) + mean_error);
    const Real by_beta = mean_g * mean_d - product;
    const double by_beta_size = (magnitude(mean_g) + mean_error) * (to_double(mean_d) + mean_d_error);
    const double by_beta_error = by_beta_size - magnitude(mean_g) * to_double(mean_d) + product_error +
                                 0x1p-51 * (by_beta_size + product_size + product_error);
    const bool sloped = case_.adaptive && (beta_.slope != 0 || slope_error_ != 0);
    for (std::size_t j = 0; j < x_.size(); ++j) {
      Real dx = beta_.value * p_[j] * (g_[j] - mean_g);
      const double kappa = omega_[j] + sigma_ + 5 * lambda_ + tau_;
      const double inner = magnitude(g_[j] - mean_g), inner_error = gamma_[j] + mean_error;
      double error = b * to_double(p_[j]) * grown(kappa, inner, inner_error);
      double lost = (b + tau_) * (inner + inner_error);
      if (sloped) {
        dx += beta_.slope * by_beta * q_[j] * (d_[j] - mean_1_);
        const double kappa_1 = omega_1_[j] + sigma_1_ + 4 * lambda_;
        const double away = magnitude(d_[j] - mean_1_);
        const double away_error = eta_[j] + mean_1_error_ + u_ * (to_double(mean_1_) + mean_1_error_);
        const double largest = (magnitude(beta_.slope) + slope_error_) * (magnitude(by_beta) + by_beta_error);
        error += to_double(q_[j]) *
                 (std::exp(kappa_1) * largest * (away + away_error) - magnitude(beta_.slope * by_beta) * away);
        lost += largest * (away + away_error);
      }
      error += u_ * (magnitude(dx) + error) + 8 * floor_ * (1 + lost);
      row_.dx.push_back(dx);
      row_.error.push_back(error);
    }
  }

  // What is not seen adds 0.
  double height() const {
    const auto keys = static_cast<std::uint64_t>(case_.problem.keys);
    return static_cast<double>(
        std::min<std::uint64_t>(numerics::summation_height(case_.contract, keys), x_.size() - 1));
  }
  double blocks() const { return std::ceil(static_cast<double>(case_.problem.keys) / case_.keys_of_block); }
  // Blocks' sums in double one after the other, each a rescaling.
  double summation() const { return (height() + 1) * lambda_ + blocks() * (case_.contract.exp_error + 3) * 0x1p-53; }
  // What a factor e^(+-log_error) and an absolute error make of a size at most.
  static double grown(double log_error, double size, double error) {
    return std::exp(log_error) * error + std::expm1(log_error) * size;
  }
  static double log_mean(const std::vector<Real>& p, const Doubles& s) {
    double excess = 0;
    for (std::size_t j = 0; j < s.size(); ++j) excess += to_double(p[j]) * std::expm1(s[j]);
    return std::log1p(excess);
  }
  static Real sum(const std::vector<Real>& p, const std::vector<Real>& of) {
    Real total = 0;
    for (std::size_t j = 0; j < p.size(); ++j) total += p[j] * of[j];
    return total;
  }

  const GradientCase& case_;
  const double u_ = numerics::properties(case_.contract.accumulator).unit_roundoff;
  const double floor_ = numerics::properties(case_.contract.accumulator).smallest_subnormal;
  const double lambda_ = -std::log1p(-u_), lambda_exp_ = -std::log1p(-case_.contract.exp_error * u_);
  GradientRow row_;
  std::vector<Real> x_, g_, d_, p_, q_;
  Doubles e_, gamma_, eta_, omega_, omega_1_;
  ExactBeta beta_{Real(0)};
  double tau_ = 0, slope_error_ = 0, sigma_ = 0, sigma_1_ = 0, mean_1_error_ = 0;
  Real mean_1_ = 0;
};

/// One result, element by element; NaN where it must be.
struct ExactTensor {
  std::vector<Real> values;
  std::vector<double> errors;
  std::vector<bool> is_nan;

  explicit ExactTensor(const Shape& shape) {
    std::size_t n = 1;
    for (const std::int64_t extent : shape) n *= static_cast<std::size_t>(extent);
    values.resize(n);
    errors.resize(n);
    is_nan.resize(n);
  }
  /// += term, computed to within error, a product and as many additions as roundings.
  void add(std::size_t place, const Real& weight, double weight_error, double factor, double roundings, double lambda) {
    if (std::isnan(factor)) {
      is_nan[place] = true;
      return;
    }
    values[place] += weight * factor;
    const double size = magnitude(weight), grown = std::exp(roundings * lambda) * (size + weight_error);
    errors[place] += (grown - size) * std::fabs(factor);
  }
};

struct ExactGradient {
  ExactTensor dq, dk, dv;

  explicit ExactGradient(const GradientCase& c)
      : dq(c.problem.q_shape()), dk(c.problem.k_shape()), dv(c.problem.v_shape()) {
    const AttentionProblem& p = c.problem;
    const auto rows = static_cast<std::uint64_t>(p.queries * (p.key_heads == 0 ? 0 : p.heads / p.key_heads));
    numerics::Contract over_rows = c.contract;
    over_rows.summation = {numerics::Summation::Kind::blocks, 48};
    const auto height = [](const numerics::Contract& contract, std::uint64_t n) {
      return static_cast<double>(numerics::summation_height(contract, std::max<std::uint64_t>(n, 1)));
    };
    const double over_keys = height(c.contract, static_cast<std::uint64_t>(p.keys)) + 2;
    const double over_queries = height(over_rows, rows) + 2;
    for (std::int64_t b = 0; b < p.batch; ++b) {
      for (std::int64_t h = 0; h < p.heads; ++h) {
        for (std::int64_t i = 0; i < p.queries; ++i) {
          add_row(c, {b, h, i}, RowGradient(c, b, h, i).row(), over_keys, over_queries);
        }
      }
    }
    finish(c, dq, p.scale);
    finish(c, dk, p.scale);
    finish(c, dv, 1);
  }

 private:
  struct Place {
    std::int64_t b, h, i;
  };

  void add_row(const GradientCase& c, const Place& at, const GradientRow& row, double over_keys, double over_queries) {
    const AttentionProblem& p = c.problem;
    const double lambda = -std::log1p(-numerics::properties(c.contract.accumulator).unit_roundoff);
    const std::int64_t query = (at.b * p.heads + at.h) * p.queries + at.i;
    const std::int64_t first = (at.b * p.key_heads + p.key_head(at.h)) * p.keys;
    for (std::size_t n = 0; n < row.seen.size(); ++n) {
      const std::int64_t key = first + static_cast<std::int64_t>(row.seen[n]);
      const Real dx = row.holds_nan ? Real(0) : row.dx[n];
      const double dx_error = row.holds_nan ? 0 : row.error[n];
      for (std::int64_t t = 0; t < p.dim; ++t) {
        const auto of_q = static_cast<std::size_t>(query * p.dim + t), of_k = static_cast<std::size_t>(key * p.dim + t);
        dq.add(of_q, dx, dx_error, row.holds_nan ? NAN : p.k[of_k], over_keys, lambda);
        dk.add(of_k, dx, dx_error, row.holds_nan ? NAN : p.q[of_q], over_queries, lambda);
      }
      for (std::int64_t t = 0; t < p.value_dim; ++t) {
        const auto of_o = static_cast<std::size_t>(query * p.value_dim + t);
        const auto of_v = static_cast<std::size_t>(key * p.value_dim + t);
        const bool nan = row.weights_nan;
        dv.add(of_v, nan ? Real(0) : row.p[n], nan ? 0 : row.p_error[n], nan ? NAN : c.incoming[of_o], over_queries,
               lambda);
      }
    }
  }

  // The scale, the rounding to the result's format, and what underflows.
  static void finish(const GradientCase& c, ExactTensor& tensor, double scale) {
    const auto& accumulator = numerics::properties(c.contract.accumulator);
    const auto& output = numerics::properties(c.contract.output);
    const double roundings = output.unit_roundoff > accumulator.unit_roundoff ? output.unit_roundoff : 0;
    const double terms = static_cast<double>(c.problem.keys + c.problem.queries * c.problem.heads) + 1;
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      tensor.values[i] *= scale;
      double error = tensor.errors[i] * std::fabs(scale) + terms * accumulator.smallest_subnormal;
      error += accumulator.unit_roundoff * (magnitude(tensor.values[i]) + error);
      error += roundings * (magnitude(tensor.values[i]) + error) + output.smallest_subnormal;
      // Evaluated in doubles, in fewer than 2^22 roundings of positive numbers.
      tensor.errors[i] = error * (1 + 0x1p-30);
    }
  }
};

}  // namespace softcheck::kernel_tests

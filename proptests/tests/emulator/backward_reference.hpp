#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace softcheck::emulator_tests {

/// A number and by how much a computation of it may have erred: what operations rounded to unit u make of both.
struct Bounded {
  long double value = 0;
  long double error = 0;
};

inline Bounded rounded(Bounded x, long double u) { return {x.value, x.error + u * (std::abs(x.value) + x.error)}; }
inline Bounded exactly(long double x) { return {x, 0}; }

inline Bounded sum(Bounded a, Bounded b, long double u) { return rounded({a.value + b.value, a.error + b.error}, u); }
inline Bounded difference(Bounded a, Bounded b, long double u) { return sum(a, {-b.value, b.error}, u); }
inline Bounded product(Bounded a, Bounded b, long double u) {
  return rounded({a.value * b.value, std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error}, u);
}
inline Bounded quotient(Bounded a, Bounded b, long double u) {
  const long double q = a.value / b.value;
  return rounded({q, (a.error + std::abs(q) * b.error) / (std::abs(b.value) - b.error)}, u);
}
/// 2 u of its own, and the argument's.
inline Bounded exponential_of(Bounded z, long double u) {
  const long double w = std::exp(z.value);
  return {w, w * (std::expm1(z.error) + 2 * u * std::exp(z.error))};
}
/// By CompensatedSum: one rounding, and what the rests themselves round away.
inline Bounded compensated_sum(const std::vector<Bounded>& terms, long double u) {
  Bounded total;
  long double size = 0;
  for (const Bounded& term : terms) {
    total.value += term.value;
    total.error += term.error;
    size += std::abs(term.value) + term.error;
  }
  const auto n = static_cast<long double>(terms.size() + 8);
  total.error += n * n * u * u * size;
  return rounded(total, u);
}

/// A value and its derivative along one input.
struct Dual {
  long double value = 0;
  long double slope = 0;

  friend Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
  friend Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
  friend Dual operator/(Dual a, Dual b) {
    const long double q = a.value / b.value;
    return {q, (a.slope - q * b.slope) / b.value};
  }
};
inline Dual exp(Dual x) { return {std::exp(x.value), std::exp(x.value) * x.slope}; }
inline Dual log(Dual x) { return {std::log(x.value), x.slope / x.value}; }
inline Dual constant(long double x) { return {x, 0}; }

/// Fig. 4's polynomial and its first two derivatives, by the paper's coefficients.
inline Dual adaptive_polynomial(Dual h) {
  Dual p = constant(-0.037L);
  for (const long double c : {0.481L, -2.3L, 4.917L, -1.791L}) p = p * h + constant(c);
  return p;
}
inline long double polynomial_slope(long double h) {
  return ((4 * -0.037L * h + 3 * 0.481L) * h - 2 * 2.3L) * h + 4.917L;
}
inline long double polynomial_bend(long double h) { return (12 * -0.037L * h + 6 * 0.481L) * h - 2 * 2.3L; }

/// A call of a backward kernel, all tensors compact and exact in long double.
struct BackwardProblem {
  std::int64_t batch, heads, key_heads, queries, keys, dim, value_dim;
  bool causal, adaptive;
  long double scale;
  std::vector<long double> q, k, v, d_out;
  std::vector<std::uint8_t> mask;  // (batch, heads, queries, keys)

  std::size_t query_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return static_cast<std::size_t>((b * heads + h) * queries + i);
  }
  std::size_t key_row(std::int64_t b, std::int64_t h, std::int64_t j) const {
    return static_cast<std::size_t>((b * key_heads + h / (heads / key_heads)) * keys + j);
  }
  bool sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (causal && j > i + keys - queries) return false;
    return mask[query_row(b, h, i) * static_cast<std::size_t>(keys) + static_cast<std::size_t>(j)] != 0;
  }
};

/// sum d_out out over all queries, and its derivative along the direction of the dual inputs: the definition of
/// attention itself, by automatic differentiation. Only rows that hold is true of count.
template <class Holds>
Dual loss(const BackwardProblem& p, const std::vector<Dual>& q, const std::vector<Dual>& k, const std::vector<Dual>& v,
          Holds holds) {
  const auto dim = static_cast<std::size_t>(p.dim), value_dim = static_cast<std::size_t>(p.value_dim);
  Dual total;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      for (std::int64_t i = 0; i < p.queries; ++i) {
        if (!holds(b, h, i)) continue;
        std::vector<Dual> x, a;
        for (std::int64_t j = 0; j < p.keys; ++j) {
          if (!p.sees(b, h, i, j)) continue;
          Dual score, gain;
          for (std::size_t c = 0; c < dim; ++c)
            score = score + q[p.query_row(b, h, i) * dim + c] * k[p.key_row(b, h, j) * dim + c];
          for (std::size_t c = 0; c < value_dim; ++c) {
            gain =
                gain + constant(p.d_out[p.query_row(b, h, i) * value_dim + c]) * v[p.key_row(b, h, j) * value_dim + c];
          }
          x.push_back(score * constant(p.scale));
          a.push_back(gain);
        }
        if (x.empty()) continue;
        const Dual m = constant(std::ranges::max_element(x, {}, &Dual::value)->value);
        Dual beta = constant(1);
        if (p.adaptive) {
          Dual s, t;
          for (const Dual& score : x) {
            s = s + exp(score - m);
            t = t + exp(score - m) * (m - score);
          }
          const Dual entropy = log(s) + t / s, polynomial = adaptive_polynomial(entropy);
          if (entropy.value > 0.5L && polynomial.value > 1) beta = polynomial;
        }
        Dual s, out;
        for (std::size_t j = 0; j < x.size(); ++j) {
          const Dual w = exp(beta * (x[j] - m));
          s = s + w;
          out = out + w * a[j];
        }
        total = total + out / s;
      }
    }
  }
  return total;
}

/// dL/d(score) and the weight of each key of a query, in an accumulator of unit u.
struct BoundedScores {
  std::vector<Bounded> slopes, weights;  // 0 where a key is hidden
};

inline Bounded bounded_dot(const long double* a, const long double* b, std::size_t count, long double u) {
  Bounded dot;
  long double size = 0;
  for (std::size_t c = 0; c < count; ++c) {
    dot.value += a[c] * b[c];
    size += std::abs(a[c] * b[c]);
  }
  const long double n = static_cast<long double>(count) * u;
  dot.error = n / (1 - n) * size;
  return dot;
}

inline BoundedScores bounded_scores(const BackwardProblem& p, std::int64_t b, std::int64_t h, std::int64_t i,
                                    long double u) {
  const long double u64 = 0x1p-53L;
  const auto dim = static_cast<std::size_t>(p.dim), value_dim = static_cast<std::size_t>(p.value_dim);
  const std::size_t row = p.query_row(b, h, i), n = static_cast<std::size_t>(p.keys);
  std::vector<std::size_t> seen;
  std::vector<Bounded> x, a;
  for (std::size_t j = 0; j < n; ++j) {
    if (!p.sees(b, h, i, static_cast<std::int64_t>(j))) continue;
    const std::size_t key = p.key_row(b, h, static_cast<std::int64_t>(j));
    seen.push_back(j);
    x.push_back(product(bounded_dot(&p.q[row * dim], &p.k[key * dim], dim, u), exactly(p.scale), u));
    a.push_back(bounded_dot(&p.d_out[row * value_dim], &p.v[key * value_dim], value_dim, u));
  }
  BoundedScores result{std::vector<Bounded>(n), std::vector<Bounded>(n)};
  if (seen.empty()) return result;
  Bounded m = *std::ranges::max_element(x, {}, &Bounded::value);
  for (const Bounded& score : x) m.error = std::max(m.error, score.error);
  std::vector<Bounded> z, own, own_deviations;
  long double squares = 0;
  for (const Bounded& score : x) {
    z.push_back(difference(score, m, u));
    own.push_back(exponential_of(z.back(), u));
    own_deviations.push_back(product(own.back(), z.back(), u));
    squares += own.back().value * z.back().value * z.back().value;
  }
  // The rises of an online maximum: 4 u each of S, 7 u of T, as for the statistics of a row.
  const long double rises =
      std::min<long double>(static_cast<long double>(n - 1), static_cast<long double>((n + 511) / 512 + 7));
  Bounded s1 = compensated_sum(own, u), t1 = compensated_sum(own_deviations, u);
  t1.value = -t1.value;
  s1.error += u * (6 + 4 * rises) * s1.value;
  t1.error += u * ((8 + 7 * rises) * t1.value + squares);
  const Bounded own_mean = quotient(t1, s1, u);
  Bounded beta = exactly(1), slope = exactly(0);
  if (p.adaptive) {
    const Bounded entropy{std::log(s1.value) + own_mean.value,
                          s1.error / (s1.value - s1.error) + own_mean.error + 8 * u64};
    const long double polynomial = adaptive_polynomial(constant(entropy.value)).value;
    if (entropy.value > 0.5L && polynomial > 1) {
      const long double steepest =
          std::abs(polynomial_slope(entropy.value)) + std::abs(polynomial_bend(entropy.value)) * entropy.error;
      beta = rounded({polynomial, 1.001L * steepest * entropy.error}, u);
      slope = {polynomial_slope(entropy.value),
               1.001L * std::abs(polynomial_bend(entropy.value)) * entropy.error + 16 * u64};
    }
  }
  std::vector<Bounded> w, wa, wd, wad;
  for (std::size_t j = 0; j < x.size(); ++j) {
    w.push_back(exponential_of(product(z[j], beta, u), u));
    wa.push_back(product(w[j], a[j], u));
    wd.push_back(product(w[j], z[j], u));
    wad.push_back(product(wa[j], z[j], u));
  }
  const Bounded s = compensated_sum(w, u), mean = quotient(compensated_sum(wa, u), s, u);
  const Bounded of_beta =
      quotient(difference(compensated_sum(wad, u), product(mean, compensated_sum(wd, u), u64), u64), s, u64);
  const Bounded of_entropy = product(of_beta, slope, u);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const Bounded weight = quotient(w[j], s, 2 * u);
    Bounded of_score = product(weight, difference(a[j], mean, u), u);
    if (p.adaptive) {
      const Bounded r = quotient(own[j], s1, 2 * u);
      const Bounded centred = difference({-z[j].value, z[j].error}, own_mean, u);
      of_score = sum(product(beta, of_score, u), product(of_entropy, product(r, centred, u), u), u);
    }
    result.slopes[seen[j]] = of_score;
    result.weights[seen[j]] = weight;
  }
  return result;
}

struct BoundedGradients {
  std::vector<Bounded> q, k, v;
};

/// dq, dk, dv in an accumulator of unit u, before they are rounded to the tensors' format.
inline BoundedGradients bounded_gradients(const BackwardProblem& p, long double u) {
  const auto dim = static_cast<std::size_t>(p.dim), value_dim = static_cast<std::size_t>(p.value_dim);
  std::vector<std::vector<Bounded>> q(p.q.size()), k(p.k.size()), v(p.v.size());
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      for (std::int64_t i = 0; i < p.queries; ++i) {
        const BoundedScores scores = bounded_scores(p, b, h, i, u);
        const std::size_t row = p.query_row(b, h, i);
        for (std::int64_t j = 0; j < p.keys; ++j) {
          if (!p.sees(b, h, i, j)) continue;
          const std::size_t key = p.key_row(b, h, j);
          const Bounded slope = scores.slopes[static_cast<std::size_t>(j)],
                        weight = scores.weights[static_cast<std::size_t>(j)];
          for (std::size_t c = 0; c < dim; ++c) {
            q[row * dim + c].push_back(product(slope, exactly(p.k[key * dim + c]), u));
            k[key * dim + c].push_back(product(slope, exactly(p.q[row * dim + c]), u));
          }
          for (std::size_t c = 0; c < value_dim; ++c) {
            v[key * value_dim + c].push_back(product(weight, exactly(p.d_out[row * value_dim + c]), u));
          }
        }
      }
    }
  }
  BoundedGradients result;
  for (const auto& terms : q) result.q.push_back(product(compensated_sum(terms, u), exactly(p.scale), u));
  for (const auto& terms : k) result.k.push_back(product(compensated_sum(terms, u), exactly(p.scale), u));
  for (const auto& terms : v) result.v.push_back(compensated_sum(terms, u));
  return result;
}

}  // namespace softcheck::emulator_tests

// Attention's gradient: a small problem, its exact gradient in enclosures, a kernel in f32 that stores what a contract
// says in narrower formats, and the largest share of B17 that it takes.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/rounding/rounding_attention.hpp"
#include "numerics/rounding/rounding_attention_backward.hpp"
#include "numerics/rounding/rounding_score_terms.hpp"

namespace softcheck::numerics::simulated_backward {

inline constexpr std::size_t size = 8;  // of queries, keys and values

struct BackwardCase {
  std::size_t queries = 6, keys = 40;  // the queries of all heads of one group
  double spread = 1;                   // of q
  double shift = 0;                    // of the scores: |L|
  double gradient_shift = 0;           // of dO
  double gradients = 1;                // dO differ by about that much
  bool causal = false;
  double values = 1;       // the v are about that much
  double value_shift = 0;  // around this
  // The kernel.
  bool saved_lse = true, saved_out = true;
  bool own_out = false;   // what was saved is the kernel's own output, of its stored weights
  bool base_two = false;  // p = 2^(x log2(e) - L log2(e)), with L saved
  float softcap = 0;      // 0: none
  bool split = false;     // the root of the scale is a factor of query and key each
  std::optional<float> sink = {};
  std::optional<float> lse_gradient = {};  // dL, of every query
  int grouping = 0;                        // of g - (delta - dL); 1: (g - delta) + dL; 2: (g + dL) - delta; 3: apart
  Format lse = Format::f32, out = Format::f32, weights = Format::f32, score_gradients = Format::f32;
  Format result = Format::f32, inputs = Format::f32;
  Format scores = Format::f32;  // of the scores, before a softcap and behind it
};

struct Problem {
  std::vector<float> q, k, v, dout;  // (n, size)
  float scale = 0.7F;
};

inline Problem problem(const BackwardCase& c) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal;
  const auto fill = [&](std::size_t n, double factor, double shift) {
    std::vector<float> x(n * size);
    for (float& value : x) value = static_cast<float>(round_to(c.inputs, factor * normal(engine) + shift));
    return x;
  };
  Problem p{fill(c.queries, c.spread, 0), fill(c.keys, 1, 0), fill(c.keys, c.values, c.value_shift),
            fill(c.queries, c.gradients, c.gradient_shift)};
  if (c.shift != 0) {
    for (std::size_t i = 0; i < c.queries; ++i) p.q[i * size] = static_cast<float>(c.shift);
    for (std::size_t j = 0; j < c.keys; ++j) p.k[j * size] = 2;
  }
  return p;
}

inline bool visible(const BackwardCase& c, std::size_t i, std::size_t j) {
  return !c.causal || j + c.queries <= i + c.keys;
}

struct Exact {
  std::vector<Enclosure> dq, dk, dv, out, lse;
  Enclosure dsink;
  std::vector<BackwardRow> rows;
  std::vector<std::vector<BackwardPair>> pairs;  // of each query, its sink's behind its keys'
  std::vector<std::vector<std::size_t>> keys;    // which they are
};

inline UpperBound above(const Enclosure& x) { return bound_of<UpperBound>(abs(x)); }
inline Enclosure at(const std::vector<float>& x, std::size_t row, std::size_t t) {
  return Enclosure(static_cast<double>(x[row * size + t]));
}
inline Enclosure dot(const std::vector<float>& a, std::size_t i, const std::vector<float>& b, std::size_t j,
                     bool absolute) {
  Enclosure sum(0);
  for (std::size_t t = 0; t < size; ++t) {
    const Enclosure product = at(a, i, t) * at(b, j, t);
    sum = sum + (absolute ? abs(product) : product);
  }
  return sum;
}

inline void add_row(const BackwardCase& c, const Contract& contract, const Problem& p, std::size_t i, Exact& exact) {
  const Enclosure scale(static_cast<double>(p.scale));
  std::vector<Enclosure> scores, slopes, gradients;
  std::vector<double> near;
  std::vector<std::size_t> keys;
  Enclosure sum(0), out_product(0), gradient_sum(0), delta(0);
  for (std::size_t j = 0; j < c.keys; ++j) {
    if (!visible(c, i, j)) continue;
    keys.push_back(j);
    const Enclosure score = scale * dot(p.q, i, p.k, j, false), cap(static_cast<double>(c.softcap));
    slopes.push_back(c.softcap == 0 ? Enclosure(1) : Enclosure(1) - square(tanh(score / cap)));
    scores.push_back(c.softcap == 0 ? score : cap * tanh(score / cap));
    gradients.push_back(dot(p.dout, i, p.v, j, false));
    near.push_back(scores.back().upper_double());
  }
  exact.keys.push_back(keys);
  if (keys.empty()) {  // sees nothing: no pair, and gradients of zero
    exact.pairs.emplace_back();
    exact.rows.emplace_back();
    exact.lse.emplace_back(0);
    return;
  }
  if (c.sink) {
    scores.emplace_back(static_cast<double>(*c.sink));
    near.push_back(scores.back().upper_double());
  }
  Enclosure top = scores.front();
  for (const Enclosure& x : scores) top = maximum(top, x);
  for (const Enclosure& x : scores) sum = sum + exp(x - top);
  const Enclosure lse = top + log(sum);
  std::vector<Enclosure> p_row;
  for (std::size_t n = 0; n < keys.size(); ++n) {
    p_row.push_back(exp(scores[n] - lse));
    delta = delta + p_row[n] * gradients[n];
    for (std::size_t t = 0; t < size; ++t) {
      exact.out[i * size + t] = exact.out[i * size + t] + p_row[n] * at(p.v, keys[n], t);
      exact.dv[keys[n] * size + t] = exact.dv[keys[n] * size + t] + p_row[n] * at(p.dout, i, t);
    }
  }
  AttentionArithmetic arithmetic;
  arithmetic.dimension = size;
  arithmetic.scale = p.scale;
  std::vector<BackwardPair> pairs;
  const Enclosure by_lse(static_cast<double>(c.lse_gradient.value_or(0)));
  for (std::size_t n = 0; n < keys.size(); ++n) {
    const Enclosure ds = p_row[n] * (gradients[n] - delta + by_lse) * slopes[n];
    Enclosure value_sum(0);
    for (std::size_t t = 0; t < size; ++t) {
      exact.dq[i * size + t] = exact.dq[i * size + t] + scale * ds * at(p.k, keys[n], t);
      exact.dk[keys[n] * size + t] = exact.dk[keys[n] * size + t] + scale * ds * at(p.q, i, t);
      value_sum = value_sum + abs(at(p.v, keys[n], t));
    }
    const UpperBound magnitude = above(dot(p.q, i, p.k, keys[n], true));
    const UpperBound error = score_error(contract, arithmetic, magnitude), size = above(scores[n]);
    const ScoreTerms terms{.softcap = c.softcap};
    pairs.push_back({above(p_row[n]), above(top - scores[n]),
                     c.softcap == 0 ? error : attributed_score_error(contract, terms, error, size, size),
                     above(gradients[n] - delta + by_lse), above(dot(p.dout, i, p.v, keys[n], true)),
                     above(value_sum)});
    if (c.softcap != 0) {
      const UpperBound over(std::nextafter(1 / static_cast<double>(c.softcap), INFINITY));
      pairs.back().cap = cap_slope(contract, c.softcap, above(slopes[n]), size * over, error * over);
    }
  }
  if (c.sink) {
    const Enclosure p_sink = exp(scores.back() - lse);
    exact.dsink = exact.dsink - p_sink * delta;
    pairs.push_back(
        {above(p_sink), above(top - scores.back()), UpperBound(), above(delta), UpperBound(), UpperBound()});
  }
  for (std::size_t t = 0; t < size; ++t) {
    out_product = out_product + abs(at(p.dout, i, t) * exact.out[i * size + t]);
    gradient_sum = gradient_sum + abs(at(p.dout, i, t));
  }
  exact.pairs.push_back(pairs);
  exact.lse.push_back(lse);
  BackwardRow row;
  row.rescalings = rescaling_count(contract, near);
  row.log_sum = above(log(sum));
  row.lse_magnitude = above(lse);
  row.output_product = above(out_product);
  row.gradient_sum = above(gradient_sum);
  if (c.lse_gradient) row.lse_gradient = above(by_lse);
  exact.rows.push_back(row);
}

inline Exact exact_gradient(const BackwardCase& c, const Contract& contract, const Problem& p) {
  const std::vector<Enclosure> of_queries(c.queries * size, Enclosure(0)), of_keys(c.keys * size, Enclosure(0));
  Exact exact{of_queries, of_keys, of_keys, of_queries, {}, Enclosure(0), {}, {}, {}};
  for (std::size_t i = 0; i < c.queries; ++i) add_row(c, contract, p, i, exact);
  for (std::size_t i = 0; i < c.queries; ++i) exact.rows[i].pairs = exact.pairs[i];
  return exact;
}

inline float narrowed(Format format, float x) { return static_cast<float>(round_to(format, x)); }

struct Computed {
  std::vector<float> dq, dk, dv;
  float dsink = 0;
};

// dS before a softcap's slope.
inline float score_gradient(const BackwardCase& c, float weight, float g, float delta) {
  const float by_lse = c.lse_gradient.value_or(0);
  if (c.grouping == 1) return weight * ((g - delta) + by_lse);
  if (c.grouping == 2) return weight * ((g + by_lse) - delta);
  if (c.grouping == 3) return weight * (g - delta) + weight * by_lse;
  return weight * (g - (delta - by_lse));
}

// A kernel in f32 that adds from the front.
inline constexpr float log2_e = 1.44269504F;
inline Computed kernel(const BackwardCase& c, const Problem& p, const Exact& exact) {
  Computed r{std::vector<float>(c.queries * size), std::vector<float>(c.keys * size), std::vector<float>(c.keys * size),
             0};
  const auto product = [](const std::vector<float>& a, std::size_t i, const std::vector<float>& b, std::size_t j) {
    float sum = 0;
    for (std::size_t t = 0; t < size; ++t) sum += a[i * size + t] * b[j * size + t];
    return sum;
  };
  Problem scaled = p;  // what the kernel multiplies
  if (c.split) {
    scaled.scale = 1;
    for (std::vector<float>* factors : {&scaled.q, &scaled.k}) {
      for (float& x : *factors) x *= std::sqrt(p.scale);
    }
  }
  const auto score_of = [&](std::size_t i, std::size_t j) {
    const float raw = narrowed(c.scores, scaled.scale * product(scaled.q, i, scaled.k, j));
    return c.softcap == 0 ? raw : narrowed(c.scores, c.softcap * std::tanh(raw / c.softcap));
  };
  const auto slope_of = [&](float score) {  // from the capped score
    return c.softcap == 0 ? 1 : 1 - (score / c.softcap) * (score / c.softcap);
  };
  for (std::size_t i = 0; i < c.queries; ++i) {
    const std::vector<std::size_t>& keys = exact.keys[i];
    if (keys.empty()) continue;
    float top = -INFINITY, sum = 0, delta = 0;
    for (const std::size_t j : keys) top = std::max(top, score_of(i, j));
    if (c.sink) top = std::max(top, *c.sink);
    for (const std::size_t j : keys) sum += std::exp(score_of(i, j) - top);
    if (c.sink) sum += std::exp(*c.sink - top);
    const auto saved = static_cast<float>(round_to(c.lse, exact.lse[i].upper_double()));
    std::vector<float> weights;
    for (const std::size_t j : keys) {
      const float score = score_of(i, j);
      if (c.saved_lse && c.base_two) {
        const float folded = p.scale * log2_e * product(p.q, i, p.k, j), subtrahend = saved * log2_e;
        weights.push_back(std::exp2(folded - subtrahend));
      } else {
        weights.push_back(c.saved_lse ? std::exp(score - saved) : std::exp(score - top) / sum);
      }
      if (!c.saved_out) delta += weights.back() * product(p.dout, i, p.v, j);
    }
    for (std::size_t t = 0; t < size && c.saved_out; ++t) {
      float own = 0;
      for (std::size_t n = 0; n < keys.size(); ++n) own += narrowed(c.weights, weights[n]) * p.v[keys[n] * size + t];
      const double out = c.own_out ? static_cast<double>(own) : exact.out[i * size + t].upper_double();
      delta += p.dout[i * size + t] * static_cast<float>(round_to(c.out, out));
    }
    if (c.sink) {
      const float p_sink = c.saved_lse && c.base_two ? std::exp2(log2_e * *c.sink - saved * log2_e)
                           : c.saved_lse             ? std::exp(*c.sink - saved)
                                                     : std::exp(*c.sink - top) / sum;
      r.dsink -= narrowed(c.score_gradients, p_sink * delta);
    }
    for (std::size_t n = 0; n < keys.size(); ++n) {
      const std::size_t j = keys[n];
      const float before = score_gradient(c, weights[n], product(p.dout, i, p.v, j), delta);
      const float ds = narrowed(c.score_gradients, before * slope_of(score_of(i, j)));
      const float weight = narrowed(c.weights, weights[n]);
      for (std::size_t t = 0; t < size; ++t) {
        r.dq[i * size + t] += ds * scaled.k[j * size + t];
        r.dk[j * size + t] += ds * scaled.q[i * size + t];
        r.dv[j * size + t] += weight * p.dout[i * size + t];
      }
    }
  }
  const float factor = c.split ? std::sqrt(p.scale) : p.scale;
  for (float& x : r.dq) x = narrowed(c.result, factor * x);
  for (float& x : r.dk) x = narrowed(c.result, factor * x);
  for (float& x : r.dv) x = narrowed(c.result, x);
  return r;
}

struct Shares {
  double dq = 0, dk = 0, dv = 0, dsink = 0;
  double largest() const { return std::max({dq, dk, dv, dsink}); }
};

// The least of |got - exact| over the bound, at least: above 1 the bound is broken for certain.
inline double share(float got, const Enclosure& exact, const ScalarThreshold<UpperBound>& threshold) {
  return abs(Enclosure(static_cast<double>(got)) - exact).lower_double() / upper(threshold.total());
}
// At most: below 1 it holds for certain.
inline double at_most(float got, const Enclosure& exact, const ScalarThreshold<UpperBound>& threshold) {
  return abs(Enclosure(static_cast<double>(got)) - exact).upper_double() / upper(threshold.total());
}

struct Left {
  std::function<void(Contract&)> contract = [](Contract&) {};
  std::function<void(AttentionBackwardArithmetic&)> arithmetic = [](AttentionBackwardArithmetic&) {};
  std::function<void(BackwardRow&)> row = [](BackwardRow&) {};
  std::function<void(BackwardPair&)> pair = [](BackwardPair&) {};
  bool sink_additions = false;
};

inline Shares judged(const BackwardCase& c, const Left* left) {
  const PrecisionScope scope(160);
  Contract contract = parse_contract(std::string("sum=sequential subnormal=kept exp=") +
                                         (c.base_two ? "E:2,A:3" : "1ulp") + (c.split ? " scale=split" : ""),
                                     c.inputs, c.result);
  contract.scores = c.scores;
  const Problem p = problem(c);
  Exact exact = exact_gradient(c, contract, p);
  const Computed got = kernel(c, p, exact);
  AttentionBackwardArithmetic arithmetic{size, c.keys, c.queries, p.scale, c.out, c.lse};
  contract.weights = c.weights;
  contract.score_gradients = c.score_gradients;
  if (left != nullptr) {
    left->contract(contract);
    left->arithmetic(arithmetic);
    for (auto& row : exact.pairs) std::for_each(row.begin(), row.end(), left->pair);
    std::for_each(exact.rows.begin(), exact.rows.end(), left->row);
  }
  Shares shares;
  const auto look = left == nullptr ? at_most : share;
  std::vector<std::vector<BackwardPairError>> of_keys(c.keys);
  std::vector<std::vector<std::size_t>> queries(c.keys);
  std::vector<BackwardPairError> of_sink;
  for (std::size_t i = 0; i < c.queries; ++i) {
    if (exact.keys[i].empty()) continue;
    auto errors = attention_backward_pairs(contract, arithmetic, exact.rows[i]);
    if (c.sink) {
      of_sink.push_back(errors.back());
      errors.pop_back();
    }
    for (std::size_t n = 0; n < errors.size(); ++n) {
      of_keys[exact.keys[i][n]].push_back(errors[n]);
      queries[exact.keys[i][n]].push_back(i);
    }
    const ScoreGradientSum sum(contract, arithmetic, errors, arithmetic.key_sum_height);
    for (std::size_t t = 0; t < size; ++t) {
      std::vector<UpperBound> factors;
      for (const std::size_t j : exact.keys[i]) factors.push_back(above(at(p.k, j, t)));
      const auto& dq = exact.dq[i * size + t];
      shares.dq = std::max(shares.dq, look(got.dq[i * size + t], dq, sum.error(factors, above(dq))));
    }
  }
  for (std::size_t j = 0; j < c.keys; ++j) {
    const ScoreGradientSum sum(contract, arithmetic, of_keys[j], arithmetic.query_sum_height);
    const ValueGradientSum of_values(contract, arithmetic, of_keys[j]);
    for (std::size_t t = 0; t < size && !of_keys[j].empty(); ++t) {
      std::vector<UpperBound> of_q, of_dout;
      for (const std::size_t i : queries[j]) {
        of_q.push_back(above(at(p.q, i, t)));
        of_dout.push_back(above(at(p.dout, i, t)));
      }
      const auto &dk = exact.dk[j * size + t], &dv = exact.dv[j * size + t];
      shares.dk = std::max(shares.dk, look(got.dk[j * size + t], dk, sum.error(of_q, above(dk))));
      shares.dv = std::max(shares.dv, look(got.dv[j * size + t], dv, of_values.error(of_dout, above(dv))));
    }
  }
  if (!of_sink.empty()) {
    contract.output = Format::f32;
    const std::uint64_t height = left != nullptr && left->sink_additions ? 0 : c.queries - 1;
    shares.dsink = look(got.dsink, exact.dsink, sink_gradient_error(contract, of_sink, height, above(exact.dsink)));
  }
  return shares;
}

}  // namespace softcheck::numerics::simulated_backward

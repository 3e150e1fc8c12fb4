// The language model by its definition, with derivatives carried along. It shares no code with the model.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <unsupported/Eigen/AutoDiff>
#include <vector>

#include "experiments/language/language_model.hpp"

namespace softcheck::experiments {
namespace {

using LongReal = long double;
using Derivative = Eigen::AutoDiffScalar<Eigen::Matrix<LongReal, 1, 1>>;  // a value and its slope in one direction

// Llama by its definition, a token at a time and without any matrix, and Fig. 4's temperature.
class DirectLanguage {
 public:
  using Vector = std::vector<Derivative>;

  DirectLanguage(const LanguageDesign& design, const Vector& parameters)
      : design_(design), places_{design.shape}, parameters_(parameters) {}

  Derivative loss(const TokenBatch& batch) const {
    Derivative total(0);
    for (int text = 0; text < batch.texts(); ++text) {
      const auto begin = static_cast<std::size_t>(batch.begins[static_cast<std::size_t>(text)]);
      const auto end = static_cast<std::size_t>(batch.begins[static_cast<std::size_t>(text) + 1]);
      const std::vector<Vector> behind = run(batch, begin, end);
      for (std::size_t i = 0; i < batch.places.size(); ++i) {
        const auto place = static_cast<std::size_t>(batch.places[i]);
        if (place < begin || place >= end) continue;
        total += minus_log_probability(normed(behind[place - begin], places_.last_norm()), batch.labels[i]);
      }
    }
    return total / LongReal(batch.targets());
  }

 private:
  Derivative dot(std::size_t row, const Vector& x) const {
    Derivative sum(0);
    for (std::size_t i = 0; i < x.size(); ++i) sum += parameters_[row + i] * x[i];
    return sum;
  }
  Vector product(std::size_t matrix, int rows, const Vector& x) const {
    Vector out;
    for (int row = 0; row < rows; ++row) out.push_back(dot(matrix + static_cast<std::size_t>(row) * x.size(), x));
    return out;
  }
  Vector normed(const Vector& x, std::size_t gain) const {
    Derivative squares(0);
    for (const Derivative& value : x) squares += value * value;
    const Derivative root = sqrt(squares / LongReal(x.size()) + LongReal(norm_epsilon));
    Vector out;
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(parameters_[gain + i] * x[i] / root);
    return out;
  }
  // (q_i, q_{i + half}) turned by position base^(-2 i / dim): the way of transformers' rotate_half.
  void turn_head(Vector& x, std::size_t first, int position) const {
    const auto dim = static_cast<std::size_t>(design_.shape.head_width());
    for (std::size_t i = 0; i < dim / 2; ++i) {
      const double angle = position * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
      const LongReal c = std::cos(angle), s = std::sin(angle);
      const Derivative a = x[first + i], b = x[first + dim / 2 + i];
      x[first + i] = a * c - b * s;
      x[first + dim / 2 + i] = b * c + a * s;
    }
  }
  static Derivative entropy(const Vector& p) {
    Derivative h(0);
    for (const Derivative& value : p) {
      if (value.value() > 0) h -= value * log(value);
    }
    return h;
  }
  static Derivative temperature(const Vector& p) {
    const Derivative h = entropy(p);
    const Derivative polynomial = ((Derivative(-0.037L) * h + 0.481L) * h - 2.3L) * h * h + 4.917L * h - 1.791L;
    return h.value() > 0.5L && polynomial.value() > 1 ? polynomial : Derivative(1);
  }
  static Derivative line(const Vector& p) {
    const Derivative h = entropy(p);
    return h.value() > (1 - 0.346L) / 0.888L ? Derivative(0.346L + 0.888L * h) : Derivative(1);
  }
  static Vector softmax(const Vector& x, const Derivative& beta) {
    Vector p;
    Derivative sum(0);
    for (const Derivative& value : x) {
      p.push_back(exp(value * beta));
      sum += p.back();
    }
    for (Derivative& value : p) value /= sum;
    return p;
  }
  // Weights [x/2 - t]_+^2: with the k largest halves z, the threshold is mean - sqrt((1 - sum (z - mean)^2) / k) for
  // the largest k for which that is below all of them (Peters, Niculae and Martins 2019, algorithm 2).
  static Vector squared_roots(const Vector& x) {
    Vector z;
    for (const Derivative& value : x) z.push_back(value / LongReal(2));
    std::ranges::sort(z, std::greater<>(), [](const Derivative& value) { return value.value(); });
    Derivative threshold(0);
    for (std::size_t k = 1; k <= z.size(); ++k) {
      Derivative mean(0), squares(0);
      for (std::size_t i = 0; i < k; ++i) mean += z[i] / LongReal(k);
      for (std::size_t i = 0; i < k; ++i) squares += (z[i] - mean) * (z[i] - mean);
      const Derivative left = (Derivative(1) - squares) / LongReal(k);
      if (left.value() < 0) break;
      const Derivative of_k = mean - sqrt(left);
      if (of_k.value() <= z[k - 1].value()) threshold = of_k;
    }
    Vector p;
    for (const Derivative& value : x) {
      const Derivative root = value / LongReal(2) - threshold;
      p.push_back(root.value() > 0 ? Derivative(root * root) : Derivative(0));
    }
    return p;
  }
  // What a head of token i sees of tokens 0 ... i.
  void see(const std::vector<Vector>& projected, std::size_t i, std::size_t head, Vector& out) const {
    const auto d = static_cast<std::size_t>(design_.shape.width),
               dim = static_cast<std::size_t>(design_.shape.head_width());
    Vector scores;
    for (std::size_t j = 0; j <= i; ++j) {
      Derivative score(0);
      for (std::size_t c = head * dim; c < (head + 1) * dim; ++c) score += projected[i][c] * projected[j][d + c];
      scores.push_back(score / std::sqrt(static_cast<LongReal>(dim)));
      if (design_.weights == HeadWeights::log_n) scores.back() *= std::log(LongReal(i + 1)) / std::log(LongReal(256));
    }
    // Behind the others, where the sum over their values ends before it.
    if (design_.weights == HeadWeights::sink) scores.emplace_back(0);
    Vector p = !has_kernel(design_.weights) ? squared_roots(scores) : softmax(scores, Derivative(1));
    if (design_.weights == HeadWeights::line) p = softmax(scores, line(p));
    if (design_.adaptive) p = softmax(scores, temperature(p));
    for (std::size_t c = head * dim; c < (head + 1) * dim; ++c) {
      for (std::size_t j = 0; j <= i; ++j) out[c] += p[j] * projected[j][2 * d + c];
    }
  }
  std::vector<Vector> run(const TokenBatch& batch, std::size_t begin, std::size_t end) const {
    const int d = design_.shape.width, f = design_.shape.inner;
    std::vector<Vector> x;
    for (std::size_t t = begin; t < end; ++t) {
      const auto row = parameters_.begin() + static_cast<std::ptrdiff_t>(batch.ids[t]) * d;
      x.emplace_back(row, row + d);
    }
    for (int layer = 0; layer < design_.shape.layers; ++layer) {
      std::vector<Vector> projected;
      for (std::size_t t = 0; t < x.size(); ++t) {
        projected.push_back(product(places_.projections(layer), 3 * d, normed(x[t], places_.input_norm(layer))));
        for (int head = 0; head < 2 * design_.shape.heads && !batch.positions.empty(); ++head) {
          turn_head(projected[t], static_cast<std::size_t>(head * design_.shape.head_width()),
                    batch.positions[begin + t]);
        }
      }
      for (std::size_t t = 0; t < x.size(); ++t) {
        Vector seen(static_cast<std::size_t>(d), Derivative(0));
        for (int head = 0; head < design_.shape.heads; ++head) see(projected, t, static_cast<std::size_t>(head), seen);
        add(x[t], product(places_.output(layer), d, seen));
        const Vector both = product(places_.gate(layer), 2 * f, normed(x[t], places_.middle_norm(layer)));
        Vector inner;
        for (int i = 0; i < f; ++i) {
          const Derivative gate = both[static_cast<std::size_t>(i)];
          inner.push_back(gate / (LongReal(1) + exp(-gate)) * both[static_cast<std::size_t>(f + i)]);
        }
        add(x[t], product(places_.down(layer), d, inner));
      }
    }
    return x;
  }
  static void add(Vector& x, const Vector& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  Derivative minus_log_probability(const Vector& x, int label) const {
    const Vector logits = product(places_.embedding(), character_count, x);
    Derivative sum(0);
    for (const Derivative& logit : logits) sum += exp(logit);
    return log(sum) - logits[static_cast<std::size_t>(label)];
  }

  const LanguageDesign& design_;
  LanguagePlaces places_;
  const Vector& parameters_;
};

}  // namespace
}  // namespace softcheck::experiments

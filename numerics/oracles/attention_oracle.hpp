#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/oracles/adaptive_oracle.hpp"
#include "numerics/rows/enclosed_row.hpp"

namespace softcheck::numerics {

/// One query against n keys and values, row-major.
struct AttentionInputs {
  std::span<const double> query;               // (d), finite
  std::span<const double> keys;                // (n, d), finite
  std::span<const double> values;              // (n, dv), finite
  std::size_t value_size = 0;                  // dv
  double scale = 1;                            // finite
  std::span<const std::uint8_t> visible = {};  // (n), nonzero = visible; empty: all are
  std::size_t items = 0;                       // n
  // x_j = softcap tanh(s_j / softcap) - slope distance_j + bias_j with s_j = scale <q, k_j>; absent terms are omitted.
  double softcap = 0;                      // finite, >= 0; 0: none
  double slope = 0;                        // finite
  std::span<const double> distances = {};  // (n) if slope is not 0
  std::span<const double> bias = {};       // (n) finite, or empty
  std::optional<double> sink = {};         // the score of an additional item, always visible, with value 0
  std::span<const double> factors = {};    // (n) finite: out_c = sum_j factor_j p_j v_jc, as a dropout has it
};

/// One row of attention: x_j = scale <q, k_j> with the added terms, p = softmax(x), out_c = sum_j p_j v_jc. With
/// `adaptive`, adaptive attention: p = softmax(beta x) and beta = beta(entropy of softmax(x)).
///
/// error    enclosures at the working precision at construction; a logit's width is about d 2^-(precision + 64) |scale|
///          sum |q_t k_jt|
/// throws   std::invalid_argument if shapes disagree or an input is not finite
class AttentionOracle {
 public:
  explicit AttentionOracle(const AttentionInputs& inputs, std::optional<EntropyDefinition> adaptive = std::nullopt);

  /// softmax(x); its maximum is the largest logit.
  const EnclosedRow& scores() const { return scores_; }
  /// The row whose softmax weights the values: beta x, or x if attention is not adaptive.
  const EnclosedRow& weights() const { return sharpened_ ? *sharpened_ : scores_; }

  bool fully_masked() const { return scores_.fully_masked(); }
  // The following need a visible item and throw std::logic_error otherwise.
  Enclosure maximum() const { return scores_.maximum(); }
  Enclosure logsumexp() const { return weights().logsumexp(); }
  Enclosure entropy() const { return weights().entropy(); }
  Enclosure beta() const;                 // 1 if attention is not adaptive
  std::vector<Enclosure> output() const;  // (dv)
  /// Sigmoid attention: sum v / (1 + e^-(x + bias)) over the visible items but the sink, times the factors, (dv).
  std::vector<Enclosure> sigmoid_output(double bias) const;

 private:
  EnclosedRow scores_;
  std::optional<Enclosure> beta_;
  std::optional<EnclosedRow> sharpened_;
  std::vector<double> values_, factors_;
  std::size_t value_size_;
};

}  // namespace softcheck::numerics

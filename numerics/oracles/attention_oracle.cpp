#include "numerics/oracles/attention_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace softcheck::numerics {
namespace {

// Additional bits for dot products, which may cancel moderately.
constexpr unsigned score_guard_bits = 64;

void require_size(const char* what, std::size_t got, std::size_t need) {
  if (got != need) {
    throw std::invalid_argument(std::string("AttentionOracle: ") + what + " must have " + std::to_string(need) +
                                " entries, got " + std::to_string(got));
  }
}

void require_finite(std::span<const double> values) {
  const auto infinite = std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  if (infinite != values.end()) {
    throw std::invalid_argument("AttentionOracle: values must be finite, got " + std::to_string(*infinite));
  }
}

EnclosedRow scores_of(const AttentionInputs& in) {
  const std::size_t d = in.query.size();
  require_size("keys", in.keys.size(), in.items * d);
  require_size("values", in.values.size(), in.items * in.value_size);
  if (!in.visible.empty()) require_size("visible", in.visible.size(), in.items);
  require_finite(in.values);
  if (in.slope != 0) require_size("distances", in.distances.size(), in.items);
  if (!in.bias.empty()) require_size("bias", in.bias.size(), in.items);
  require_finite(in.bias);
  if (!in.factors.empty()) require_size("factors", in.factors.size(), in.items);
  std::vector<std::optional<Enclosure>> logits(in.items);
  {
    const PrecisionScope guard(working_precision() + score_guard_bits);
    const Enclosure scale(in.scale);
    const std::vector<Enclosure> query(in.query.begin(), in.query.end());
    for (std::size_t j = 0; j < in.items; ++j) {
      if (!in.visible.empty() && in.visible[j] == 0) continue;
      Enclosure dot;
      for (std::size_t t = 0; t < d; ++t) dot += query[t] * Enclosure(in.keys[j * d + t]);
      Enclosure logit = scale * dot;
      if (in.softcap != 0) logit = Enclosure(in.softcap) * tanh(logit / Enclosure(in.softcap));
      if (in.slope != 0) logit -= Enclosure(in.slope) * Enclosure(in.distances[j]);
      if (!in.bias.empty()) logit += Enclosure(in.bias[j]);
      logits[j] = logit;
    }
    if (in.sink) logits.emplace_back(*in.sink);
  }
  return EnclosedRow(std::move(logits));
}

}  // namespace

AttentionOracle::AttentionOracle(const AttentionInputs& inputs, std::optional<EntropyDefinition> adaptive)
    : scores_(scores_of(inputs)),
      values_(inputs.values.begin(), inputs.values.end()),
      factors_(inputs.factors.begin(), inputs.factors.end()),
      value_size_(inputs.value_size) {
  if (!adaptive || scores_.fully_masked()) return;
  beta_ =
      inverse_temperature(*adaptive == EntropyDefinition::exact ? scores_.entropy() : entropy_with_epsilon(scores_));
  sharpened_ = scores_.scaled(*beta_);
}

Enclosure AttentionOracle::beta() const { return beta_ ? *beta_ : Enclosure(1); }

std::vector<Enclosure> AttentionOracle::output() const {
  if (fully_masked()) throw std::logic_error("AttentionOracle::output: need a visible item, got a fully masked row");
  std::vector<Enclosure> output(value_size_);
  const EnclosedRow& row = weights();
  // A sink follows the items and has no value.
  const std::size_t items = value_size_ == 0 ? 0 : values_.size() / value_size_;
  for (std::size_t j = 0; j < items; ++j) {
    if (!row.is_visible(j)) continue;
    const Enclosure weight = factors_.empty() ? row.softmax(j) : Enclosure(factors_[j]) * row.softmax(j);
    for (std::size_t c = 0; c < value_size_; ++c) output[c] += weight * Enclosure(values_[j * value_size_ + c]);
  }
  return output;
}

std::vector<Enclosure> AttentionOracle::sigmoid_output(double bias) const {
  std::vector<Enclosure> output(value_size_);
  const std::size_t items = value_size_ == 0 ? 0 : values_.size() / value_size_;
  for (std::size_t j = 0; j < items; ++j) {
    if (!scores_.is_visible(j)) continue;
    const Enclosure weight =
        Enclosure(factors_.empty() ? 1 : factors_[j]) / (1 + exp(-(scores_.logit(j) + Enclosure(bias))));
    for (std::size_t c = 0; c < value_size_; ++c) output[c] += weight * Enclosure(values_[j * value_size_ + c]);
  }
  return output;
}

}  // namespace softcheck::numerics

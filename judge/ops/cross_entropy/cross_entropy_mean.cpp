// The mean, or the sum, of the losses of a call's rows, and its gradient by the logits (B14, B15).
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "judge/ops/cross_entropy/loss_elements.hpp"
#include "judge/ops/cross_entropy/loss_inputs.hpp"
#include "judge/ops/rows/gradient_inputs.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// Bit of RowCase::auxiliary: add up the losses without dividing.
constexpr std::uint64_t sum_bit = other_upstream_bit;
// The bits that all rows of a call share.
constexpr std::uint64_t shared_bits = 63;

// With class weights libraries disagree on whether the z-loss is weighted, so its mean has no common definition: the
// judge never asks for both.
Attributes drawn_mean_attributes(std::uint64_t auxiliary, std::size_t classes) {
  Attributes attributes = drawn_loss_attributes(auxiliary, classes);
  attributes.mean = (auxiliary & sum_bit) == 0;
  if ((auxiliary & class_weights_bit) != 0) attributes.z_loss = 0;
  return attributes;
}

// In every eighth call all rows are ignored, in another eighth all but one in four.
double drawn_label_of_mean(std::span<const double> logits, std::uint64_t auxiliary) {
  const auto ignored = static_cast<double>(drawn_mean_attributes(auxiliary, logits.size()).ignore_index);
  if ((auxiliary & domain_bit) != 0) return drawn_label(logits, auxiliary);
  const std::uint64_t kind = hashed(logits.size(), auxiliary & shared_bits) % 8;
  if (kind == 0 || (kind == 1 && auxiliary / 64 % 4 != 0)) return ignored;
  return drawn_label(logits, auxiliary);
}

// The sum over the counted rows, divided by their number or by the sum of their weights.
class MeanElements final : public RowElements {
 public:
  MeanElements(const CallOfRows& call, std::string_view claim, std::size_t auxiliary)
      : call_(call), inner_(call.contract), claim_(claim), auxiliary_(auxiliary) {
    // Each loss is rounded to the accumulator before it is added.
    inner_.output = inner_.accumulator;
    UpperBound error, rounding, magnitude, largest_resolution;
    each_distinct([&](const RowInputs& row, std::span<const double> weights, std::size_t times) {
      const auto count = static_cast<long double>(times);
      const UpperBound of_each(static_cast<double>(times));
      LossElements loss(row, weights, claim_);
      const Quick quick = loss.quick(0);
      sum_ += count * quick.value;
      sum_error_ += count * quick.error;
      error = error + of_each * UpperBound(loss.threshold(0));
      rounding = rounding + of_each * UpperBound(loss.rounding());
      magnitude = magnitude + of_each * size_of(quick);
      largest_resolution = largest_resolution + of_each * UpperBound(loss.resolution);
      overflows_ = overflows_ || loss.overflows(0);
      resolved = resolved && loss.resolved;
      weighted_ = !weights.empty();
      divisor_ += weights.empty() ? count : count * weights[loss.label()];
      rows_ += times;
    });
    if (!call.attributes.mean) divisor_ = 1;
    overflows_ = overflows_ || !is_in_range(inner_, upper(magnitude + error)) || !is_in_range(inner_, above_divisor());
    promised = !overflows_ && std::isfinite(upper(error));
    resolved = resolved && !overflows_;
    resolution = overflows_ ? infinity : upper(largest_resolution) / static_cast<double>(divisor_) * (1 + 0x1p-40);
    threshold_ = promised ? upper(of_mean(magnitude, error).total()) : infinity;
    rounding_ = promised ? upper(of_mean(magnitude, rounding).rounding) : infinity;
  }

  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t) override {
    Enclosure sum, divisor;
    each_distinct([&](const RowInputs& row, std::span<const double> weights, std::size_t times) {
      const LossTerms terms(row, weights);
      const Enclosure count = Enclosure::integer(times);
      sum += count * terms.oracle().loss();
      divisor += count * Enclosure(terms.weight(terms.label()));
    });
    return call_.attributes.mean ? sum / divisor : sum;
  }
  // Terms of one sign: one rounding each, and one of the quotient.
  Quick quick(std::size_t) override {
    const long double mean = sum_ / divisor_;
    const auto roundings = static_cast<long double>(rows_ + 4) * two_roundings;
    return {mean, (sum_error_ / divisor_ + std::fabs(mean) * 2 * roundings) * (1 + 2 * roundings) + 0x1p-1070L};
  }
  double threshold(std::size_t) override { return threshold_; }
  bool is_vacuous(std::size_t, double magnitude) override { return numerics::is_vacuous(rounding_, magnitude); }
  bool overflows(std::size_t) override { return overflows_; }

 private:
  // Calls each(row, class weights, count) for each distinct row, in order of first appearance.
  template <class Each>
  void each_distinct(Each each) const {
    std::map<std::vector<double>, std::size_t> times;  // key: logits and label
    const auto key_of = [](const RowInputs& row) {
      std::vector<double> key(row.logits.begin(), row.logits.end());
      key.push_back(row.auxiliary[0][0]);
      return key;
    };
    call_.each([&](const RowInputs& row) {
      if (!has_ignored_label(row)) ++times[key_of(row)];
    });
    call_.each([&](const RowInputs& row) {
      if (has_ignored_label(row)) return;
      std::size_t& left = times.find(key_of(row))->second;
      if (left == 0) return;
      const RowInputs counted{inner_, row.logits, row.theta, row.auxiliary, row.attributes};
      each(counted, class_weights_of(counted, auxiliary_), std::exchange(left, 0));
    });
  }
  double above_divisor() const { return static_cast<double>(divisor_) * (1 + 0x1p-40); }
  ScalarThreshold<UpperBound> of_mean(const UpperBound& magnitude, const UpperBound& error) const {
    const double divisor = call_.attributes.mean ? static_cast<double>(divisor_) * (1 - 0x1p-40) : 1;
    ScalarThreshold<UpperBound> of =
        cross_entropy_mean_error(call_.contract, rows_, magnitude, error, divisor, weighted_ && call_.attributes.mean);
    if (!call_.attributes.mean) return of;
    // A count that is not a number of the accumulator is rounded before the division.
    const UpperBound more = cross_entropy_count_error<UpperBound>(call_.contract, weighted_ ? 1 : rows_);
    of.rounding = of.rounding * (1 + more) + more * magnitude * UpperBound((1 + 0x1p-40) / divisor);
    return of;
  }

  const CallOfRows& call_;
  Contract inner_;
  std::string_view claim_;
  std::size_t auxiliary_;  // number of inputs between the logits and the class weights
  long double sum_ = 0, sum_error_ = 0, divisor_ = 0;
  std::uint64_t rows_ = 0;
  bool weighted_ = false, overflows_ = false;
  double threshold_ = 0, rounding_ = 0;
};

// The common parts of both ops.
class ReducedLossOp : public LossOp {
 public:
  Attributes attributes(std::uint64_t auxiliary, std::size_t n) const override {
    return drawn_mean_attributes(auxiliary, n);
  }
  std::uint64_t closed_auxiliaries(const Domain& domain) const override {
    return LossOp::closed_auxiliaries(domain) | (domain.mean_only ? sum_bit : 0);
  }
  std::uint64_t set_auxiliaries(const Domain& domain) const override {
    return LossOp::set_auxiliaries(domain) | (domain.sum_only ? sum_bit : 0);
  }
  std::optional<double> weight_in_call(const RowInputs& row) const override {
    if (has_ignored_label(row)) return std::nullopt;
    const std::span<const double> weights = class_weights_of(row, traits.inputs.size() - 2);
    return weights.empty() ? 1 : weights[static_cast<std::size_t>(row.auxiliary[0][0])];
  }

 protected:
  using LossOp::LossOp;
  ~ReducedLossOp() = default;
};

class CrossEntropyMean final : public ReducedLossOp {
  static constexpr std::array inputs{OpInput{Role::logits}, OpInput{Role::labels, Extent::rows, true},
                                     loss_class_weights};
  static constexpr std::array<std::string_view, 1> outputs{"loss"}, claims{"kernel.cross_entropy_mean.loss"};

 public:
  constexpr CrossEntropyMean()
      : ReducedLossOp({.name = "cross_entropy_mean",
                       .inputs = inputs,
                       .outputs = outputs,
                       .claims = claims,
                       .one_value_per_row = true,
                       .of_whole_calls = true,
                       .number = SOFTCHECK_OP_CROSS_ENTROPY_MEAN}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    const HiddenClasses hidden(format, logits.size(), auxiliary);
    return {hidden.hidden(logits),
            {visible_label(drawn_label_of_mean(logits, auxiliary), hidden, logits.size())},
            drawn_class_weights(format, logits.size(), auxiliary)};
  }
  std::unique_ptr<RowElements> call_elements(const CallOfRows& call) const override {
    return std::make_unique<MeanElements>(call, claims[0], inputs.size() - 2);
  }
};

class CrossEntropyMeanBackward final : public ReducedLossOp {
  static constexpr std::array inputs{OpInput{Role::logits}, OpInput{Role::labels, Extent::rows, true},
                                     OpInput{Role::upstream, Extent::call}, loss_class_weights};
  static constexpr std::array<std::string_view, 1> outputs{"output"},
      claims{"kernel.cross_entropy_mean_backward.element"};

 public:
  constexpr CrossEntropyMeanBackward()
      : ReducedLossOp({.name = "cross_entropy_mean_backward",
                       .inputs = inputs,
                       .outputs = outputs,
                       .claims = claims,
                       .may_be_in_place = true,
                       .of_whole_calls = true,
                       .number = SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    const std::uint64_t bits = hashed(logits.size() + 1, auxiliary & shared_bits);
    const double upstream = bits % 2 == 0 ? 0 : drawn_upstream(format, auxiliary, bits / 2);
    const HiddenClasses hidden(format, logits.size(), auxiliary);
    return {hidden.hidden(logits),
            {visible_label(drawn_label_of_mean(logits, auxiliary), hidden, logits.size())},
            {upstream == 0 ? 1 : upstream},
            drawn_class_weights(format, logits.size(), auxiliary)};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    if (has_ignored_label(row)) return ignored_elements(claims[0]);
    const std::span<const double> weights = class_weights_of(row, inputs.size() - 2);
    const double upstream = row.auxiliary[1][0];
    const LossUpstream of =
        row.attributes.mean ? LossUpstream(row, upstream, !weights.empty()) : LossUpstream(row, upstream);
    return std::make_unique<LossGradientElements>(row, LossTerms(row, weights), of, claims[0]);
  }
};

constinit const CrossEntropyMean mean_op;
constinit const CrossEntropyMeanBackward mean_backward_op;

}  // namespace

constinit const Op Op::cross_entropy_mean = mean_op;
constinit const Op Op::cross_entropy_mean_backward = mean_backward_op;

}  // namespace softcheck::proptests

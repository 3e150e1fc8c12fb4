#include "judge/certification/judge_question.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "judge/ops/rows/judged_row.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding_model.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

UpperBound over_temperature(double value, double theta) {
  return theta == 1 || value == 0 ? UpperBound(value) : UpperBound(value / theta).next();
}

double largest_visible(std::span<const double> logits) {
  double largest = 0;
  for (const double logit : logits) largest = std::isfinite(logit) ? std::fmax(largest, std::fabs(logit)) : largest;
  return largest;
}

// Sets the numbers of exp's argument: theta's reciprocal, a product after the difference, and theta's own conversion.
void set_argument(const Contract& contract, double theta, JudgeNumbers& numbers) {
  numbers.argument_roundings = contract.exp_argument_error;
  numbers.difference_loss = numbers.sum_loss;
  UpperBound extra(0);
  const UpperBound unit = minus_log1m(UpperBound(numbers.accumulator_roundoff));
  if (theta != 1) {
    numbers.argument_roundings += round_to(contract.accumulator, theta) == theta ? 2 : 3;
    if (contract.accumulator != Format::f64) numbers.argument_extra = properties(Format::f64).unit_roundoff;
    extra = minus_log1m(UpperBound(numbers.argument_extra));
    const UpperBound log = UpperBound(numbers.argument_roundings) * unit + extra;
    numbers.difference_loss =
        (exp(log) * over_temperature(numbers.sum_loss, theta) + UpperBound(numbers.product_loss)).value();
  }
  // The maximum's own term has all these roundings except the subtraction's.
  const UpperBound scaled(std::fmax(numbers.argument_roundings - 1, 0));
  numbers.scaling_error = expm1(scaled * unit + extra).value();
}

// How far a deviation moves when logits and maximum are read.
double conversion_error(const Contract& contract, double theta, double largest, const JudgeNumbers& numbers) {
  const bool flushed = contract.subnormals == Subnormals::flushed;
  UpperBound lost(flushed ? properties(contract.accumulator).smallest_normal : 0.0), moved(0);
  if (!embeds(contract.input, contract.accumulator)) {
    lost = UpperBound(numbers.product_loss);
    moved = 2 * UpperBound(numbers.accumulator_roundoff) * over_temperature(largest, theta);
  }
  return (moved + 2 * over_temperature(lost.value(), theta)).value();
}

// r of B6: if the sum exceeds the inverse of the smallest normal number, its reciprocal is subnormal.
double reciprocal_loss(const Contract& contract, std::span<const double> logits, double theta) {
  const RowCascade cascade(logits, theta);
  const Statistics statistics = statistics_of(cascade.statistics(), contract, logits, theta);
  const RoundingModel<UpperBound> model(contract, statistics, Grants::all);
  const UpperBound largest_sum = exp(statistics.log_sum + model.sum_log);
  const bool normal = largest_sum.value() <= 1 / properties(contract.accumulator).smallest_normal;
  return normal ? 0 : (model.product_floor * largest_sum).value();
}

// A word that the theorems do not have; empty if there is none.
std::string_view unproved_word(const Contract& contract, double theta) {
  if (contract.weights) return "weights=";
  if (contract.total) return "total=";
  if (contract.differences) return "differences=";
  if (contract.least_exp != 0) return "exp_floor=";
  if (contract.lse == LseForm::running || contract.lse == LseForm::base2) return "lse=running or base2";
  return contract.theta == ThetaUse::before && theta != 1 ? "theta=before" : "";
}

std::string of_a_word(std::string_view word) {
  return "its theorems are of kernels without " + std::string(word) + ", whose roundings are added by hand";
}

}  // namespace

std::vector<std::pair<std::string, double>> JudgeNumbers::named() const {
  return {{"accumulator_roundoff", accumulator_roundoff},
          {"exponential_error", exponential_error},
          {"logarithm_error", logarithm_error},
          {"argument_roundings", argument_roundings},
          {"argument_extra", argument_extra},
          {"difference_loss", difference_loss},
          {"sum_loss", sum_loss},
          {"product_loss", product_loss},
          {"exponential_loss", exponential_loss},
          {"last_argument", last_argument},
          {"conversion_error", conversion_error},
          {"scaling_error", scaling_error},
          {"reciprocal_loss", reciprocal_loss},
          {"result_roundoff", result_roundoff},
          {"result_loss", result_loss},
          {"smallest_number", smallest_number}};
}

JudgeNumbers judge_numbers(const Contract& contract, std::span<const double> logits, double theta) {
  const FpEnvironmentGuard guard;
  if (const std::string_view word = unproved_word(contract, theta); !word.empty()) {
    throw std::invalid_argument("judge_numbers: need no " + std::string(word));
  }
  const FormatProperties& accumulator = properties(contract.accumulator);
  const FormatProperties& output = properties(contract.output);
  const bool flushed = contract.subnormals == Subnormals::flushed;
  // For f64 half of the smallest subnormal is no double: rounded up.
  const UpperBound half_quantum = UpperBound(accumulator.smallest_subnormal) * UpperBound(0.5);
  const UpperBound least(flushed ? accumulator.smallest_normal : 0.0);
  JudgeNumbers numbers;
  numbers.accumulator_roundoff = accumulator.unit_roundoff;
  // Products with a power of two are exact.
  numbers.exponential_error = contract.exp_error * accumulator.unit_roundoff;
  numbers.logarithm_error = contract.log_error * accumulator.unit_roundoff;
  numbers.sum_loss = least.value();
  numbers.product_loss = flushed ? least.value() : half_quantum.value();
  const UpperBound quanta = UpperBound(std::fmax(contract.exp_error, 1)) * half_quantum;
  numbers.exponential_loss = maximum(least, quanta).value();
  // The smallest subnormal number is 2^-bits; ln 2 < 0.6931471806.
  const int bits = accumulator.precision - 1 - accumulator.min_exponent;
  numbers.last_argument = 2 * bits * 0.6931471806;
  set_argument(contract, theta, numbers);
  numbers.conversion_error = conversion_error(contract, theta, largest_visible(logits), numbers);
  numbers.reciprocal_loss = reciprocal_loss(contract, logits, theta);
  numbers.result_roundoff = output.precision < accumulator.precision ? output.unit_roundoff : 0;
  const bool narrower = contract.output != contract.accumulator && !embeds(contract.accumulator, contract.output);
  if (narrower) numbers.result_loss = flushed ? output.smallest_normal : output.smallest_subnormal * 0.5;
  numbers.smallest_number = accumulator.smallest_subnormal;
  numbers.sum = word_of(contract, "sum").substr(std::string_view("sum=").size());
  return numbers;
}

std::string judge_contract_line(const JudgeNumbers& numbers) {
  std::string line = "contract";
  for (const auto& [name, number] : numbers.named()) line += " " + name + " " + hex_float(number);
  return line + " sum " + numbers.sum;
}

std::string judge_row_line(std::span<const double> logits, double theta, unsigned bits) {
  std::string line = "row " + std::to_string(bits) + " " + hex_float(theta);
  for (const double logit : logits) line += " " + (std::isfinite(logit) ? hex_float(logit) : "masked");
  return line;
}

std::string judge_value_line(Op op, std::optional<double> logit, double output) {
  const std::string asked = logit ? "coefficient " + hex_float(*logit) : std::string(to_string(op));
  return asked + " " + hex_float(output);
}

std::string outside_the_theorems(Op op, const Contract& contract, double theta) {
  const std::string_view name = to_string(op);
  if (name != "softmax" && name != "logsumexp" && name != "entropy")
    return "it has no theorem about " + std::string(name);
  if (const std::string_view word = unproved_word(contract, theta); !word.empty()) return of_a_word(word);
  if (name == "entropy" && !contract.has_centred_entropy()) return of_a_word("entropy_from=");
  return "";
}

}  // namespace softcheck::proptests

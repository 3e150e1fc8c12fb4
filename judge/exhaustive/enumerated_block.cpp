// A block of attention: three quick tests judge its scores as rows of logits.
#include "judge/exhaustive/enumerated_block.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "judge/ops/rows/argument_form.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"
#include "numerics/rounding/rounding_attention.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// B9's threshold of a weight p as (constant + slope D) p. If the values are rows of the identity, the output's columns
// are the weights. Assumes exact scores; with their errors the contract grants more.
ArgumentThreshold weight_threshold(const Contract& contract, const Statistics& statistics) {
  const std::size_t n = statistics.size;
  AttentionArithmetic arithmetic;
  arithmetic.coefficients = contract.weights.value_or(contract.accumulator);
  arithmetic.value_sum_height = std::min<std::uint64_t>(summation_height(contract, n), n - 1);
  const std::vector<UpperBound> errors(n, UpperBound(0));
  std::vector<UpperBound> one(n, UpperBound(0)), deviations(n, UpperBound(0));
  one[0] = UpperBound(1);
  const auto at = [&](double deviation) {
    deviations[0] = UpperBound(deviation);
    const ScoreRow<UpperBound> scores{statistics, one, deviations};
    return AttentionThreshold<UpperBound>(contract, arithmetic, scores, errors).column(one, UpperBound(1));
  };
  const ScalarThreshold<UpperBound> flat = at(0), steep = at(1);
  const double slope = (upper(steep.rounding) - upper(flat.rounding)) * (1 - 0x1p-20);
  return {upper(flat.rounding), std::isfinite(slope) ? std::fmax(slope, 0) : 0,
          threshold_of_result(contract, upper(flat.floor), 1), infinity};
}

constexpr ArgumentForm weight_form{ArgumentValue::coefficient, &weight_threshold};

// The contract from the scores on: scores and weights are numbers of the accumulator.
Contract over_scores(const Contract& contract) {
  Contract inner = contract;
  inner.input = contract.accumulator;
  inner.weights.reset();
  return inner;
}

}  // namespace

const QuickFindings& BlockFindings::closest() const {
  return *std::ranges::max_element(tests, {}, &QuickFindings::share);
}

void LogitsBlock::read(const RowShape& shape, std::size_t rows, const BlockBytes& bytes, const BlockResults& results) {
  const bool scalar = subject_.op->one_value_per_row;
  bytes_ = bytes.rows;
  logits_.resize(rows * shape.columns);
  got_.resize(scalar ? rows : logits_.size());
  decode_all(subject_.contract.input, bytes_, logits_);
  decode_all(subject_.contract.output, results.at(0), got_);
  if (!quick_ || shape_.columns != shape.columns) {
    quick_.emplace(*subject_.op.rows().arguments(), subject_.contract, shape);
  }
  shape_ = shape;
}

BlockFindings LogitsBlock::judge() {
  QuickFindings found = quick_->judge(logits_, got_);
  BlockFindings result;
  result.open = found.open;
  result.shares = {found.share, found.row_sum_share};
  result.shares.resize(std::min(result.shares.size(), subject_.op->claims.size()));
  result.tests.push_back(std::move(found));
  return result;
}

EnumeratedRow LogitsBlock::row(std::size_t number) {
  const std::size_t columns = shape_.columns, values = subject_.op->one_value_per_row ? 1 : columns;
  const std::size_t bytes = bytes_.size() / logits_.size();
  return {shape_,
          bytes_.subspan(number * columns * bytes, columns * bytes),
          {},
          std::span(logits_).subspan(number * columns, columns),
          std::span(got_).subspan(number * values, values)};
}

std::string LogitsBlock::text(std::size_t number, std::optional<std::size_t>) {
  return case_text_of(subject_.op, subject_.contract.input, row(number));
}

void ScoresBlock::set_tests(const RowShape& shape) {
  Contract of_output = subject_.contract;
  of_output.output = subject_.contract.input;
  const Contract of_scalars = over_scores(subject_.contract);
  tests_.clear();
  tests_.reserve(3);
  tests_.emplace_back(weight_form, of_output, shape);
  tests_.emplace_back(*Op::logsumexp.rows().arguments(), of_scalars, shape);
  tests_.emplace_back(*Op::entropy.rows().arguments(), of_scalars, shape);
}

void ScoresBlock::read(const RowShape& shape, std::size_t rows, const BlockBytes& bytes, const BlockResults& results) {
  if (tests_.empty()) set_tests(shape);
  shape_ = shape;
  rows_ = rows;
  bytes_ = bytes;
  const std::size_t n = shape.columns;
  queries_.resize(rows);
  keys_.resize(n);
  decode_all(subject_.contract.input, bytes.rows, queries_);
  decode_all(subject_.contract.input, bytes.auxiliary, keys_);
  got_.resize(results.size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    got_[k].resize(rows * (k == 0 ? shape.value_dim : 1));
    decode_all(k == 0 ? subject_.contract.input : subject_.contract.output, results[k], got_[k]);
  }
  // A product of two 16-bit numbers is exact in double, and so is scaling by a power of two.
  scores_.resize(rows * n);
  for (std::size_t r = 0; r < rows; ++r) {
    const double query = queries_[r] * shape.scale;
    for (std::size_t j = 0; j < n; ++j) scores_[r * n + j] = query * keys_[j];
  }
}

bool ScoresBlock::is_nan(std::size_t number) const {
  bool all = true;
  for (std::size_t k = 0; k < got_.size(); ++k) {
    const std::size_t values = k == 0 ? shape_.value_dim : 1;
    for (std::size_t i = number * values; i < (number + 1) * values; ++i) all = all && got_[k][i] != got_[k][i];
  }
  return all;
}

std::span<const double> ScoresBlock::weights() {
  const std::size_t n = shape_.columns, wide = shape_.value_dim;
  if (wide == n) return got_[0];
  weights_.resize(rows_ * n);
  for (std::size_t r = 0; r < rows_; ++r) {
    std::copy_n(got_[0].begin() + static_cast<std::ptrdiff_t>(r * wide), n,
                weights_.begin() + static_cast<std::ptrdiff_t>(r * n));
  }
  return weights_;
}

BlockFindings ScoresBlock::judge() {
  BlockFindings result;
  const bool all_nan = std::ranges::any_of(keys_, [](double key) { return std::isnan(key); });
  std::vector<bool> open(rows_);
  std::vector<std::size_t> nans;
  for (std::size_t r = 0; r < rows_; ++r) {
    if (!all_nan && !std::isnan(queries_[r])) continue;
    if (is_nan(r)) {
      nans.push_back(r);
    } else {
      open[r] = true;
    }
  }
  result.nans = nans.size();
  if (all_nan) {
    result.tests.emplace_back();  // no test applies, but a block has the findings of at least one
  } else {
    for (std::size_t k = 0; k < got_.size(); ++k) {
      result.tests.push_back(k == 0 ? tests_[0].judge(scores_, weights())
                                    : tests_[k].judge_rows_of(tests_[0], got_[k]));
      for (const std::size_t r : result.tests[k].open) open[r] = true;
    }
    for (const std::size_t r : nans) open[r] = false;
    for (const QuickFindings& found : result.tests) result.shares.push_back(found.share);
  }
  for (std::size_t r = 0; r < rows_; ++r) {
    // Columns that the quick test does not read must be +0 in every row; anything else, including -0, is left to
    // enclosures.
    for (std::size_t c = shape_.columns; c < shape_.value_dim && !std::isnan(queries_[r]) && !all_nan; ++c) {
      const double value = got_[0][r * shape_.value_dim + c];
      if (value != 0 || std::signbit(value)) open[r] = true;
    }
    if (open[r]) result.open.push_back(r);
  }
  return result;
}

EnumeratedRow ScoresBlock::row(std::size_t number) {
  row_logits_.assign(1, queries_[number]);
  row_logits_.insert(row_logits_.end(), keys_.begin(), keys_.end());
  row_got_.clear();
  for (std::size_t k = 0; k < got_.size(); ++k) {
    const std::size_t values = k == 0 ? shape_.value_dim : 1;
    const auto first = got_[k].begin() + static_cast<std::ptrdiff_t>(number * values);
    row_got_.insert(row_got_.end(), first, first + static_cast<std::ptrdiff_t>(values));
  }
  const std::size_t each = bytes_.rows.size() / rows_;
  return {shape_, bytes_.rows.subspan(number * each, each), bytes_.auxiliary, row_logits_, row_got_};
}

std::string ScoresBlock::text(std::size_t number, std::optional<std::size_t> item) {
  std::string text = "q = " + hex_float(queries_[number]);
  if (item && *item < keys_.size()) text += ", k = " + hex_float(keys_[*item]);
  return text + " of keys " + hex_float(keys_.front()) + " " + hex_float(keys_[1]) + " ... " + hex_float(keys_.back());
}

}  // namespace softcheck::proptests

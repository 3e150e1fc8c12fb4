#include "judge/ops/attention/saved_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "judge/ops/attention/attention_repeats.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/ops/attention/query_oracles.hpp"
#include "judge/ops/rows/long_softmax.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

bool has_nan(std::span<const double> numbers) {
  return std::ranges::any_of(numbers, [](double x) { return std::isnan(x); });
}

// The format's number nearest to the exact value, if both ends of its enclosure round to it.
std::optional<double> nearest_number(Format format, const LongApproximation& x) {
  const long double off = x.error + 0x1p-62L * std::fabs(x.value);
  const double low = round_to(format, static_cast<double>(x.value - off)),
               high = round_to(format, static_cast<double>(x.value + off));
  return low == high && std::signbit(low) == std::signbit(high) ? std::optional(low) : std::nullopt;
}

// The nearest number is off by u / (1 + u) of the exact one, and a stored number may be off by u / (1 - u), which
// leaves room for u^2 in the number that is rounded. If even the oracle does not reach that accuracy, the error beyond
// the nearest double is far below any threshold.
double rounded(Format format, const LongApproximation& x, const std::function<Enclosure()>& enclosed) {
  if (const std::optional<double> nearest = nearest_number(format, x)) return *nearest;
  const double u = properties(format).unit_roundoff;
  if (x.error <= static_cast<long double>(u * u) * std::fabs(x.value)) {
    return round_to(format, static_cast<double>(x.value));
  }
  double nearest = 0;
  for (const unsigned bits : {128U, 256U, 512U}) {
    const PrecisionScope scope(bits);
    const Enclosure value = enclosed();
    nearest = value.midpoint();
    if (value.width() <= u * u * std::fabs(nearest)) break;
  }
  return round_to(format, nearest);
}

bool sees_a_key(const AttentionRow& row) {
  return std::ranges::any_of(row.visible, [](std::uint8_t x) { return x != 0; });
}

bool is_nan_row(const AttentionRow& row) {
  const std::size_t d = row.query.size();
  if (has_nan(row.query)) return true;
  for (std::size_t j = 0; j < row.visible.size(); ++j) {
    if (row.visible[j] != 0 && has_nan(row.keys.subspan(j * d, d))) return true;
  }
  return false;
}

// A query with at least one visible key.
class SavedQuery {
 public:
  SavedQuery(const AttentionTask& task, const AttentionRow& row)
      : task_(task),
        row_(row),
        values_(row.values.begin(), row.values.end()),
        // Saved outputs may lie near rounding boundaries: doubles would often leave the decision to the oracle.
        visible_(task.contract, row, Digits::of_long_double),
        softmax_(visible_.scores),
        outputs_(row.value_size, Digits::of_long_double),
        oracles_(task, finite(), std::span(visible_.items).first(visible_.keys())) {
    for (std::size_t k = 0; k < visible_.keys(); ++k) {
      const std::size_t j = visible_.items[k];
      outputs_.add({times(softmax_.coefficient(k), row.factor(j)), 0, {}, {}},
                   row.values.subspan(j * row.value_size, row.value_size));
    }
  }

  double logsumexp() {
    return rounded(task_.scalars, approximation(softmax_.logsumexp()),
                   [&] { return oracles_.value(AttentionClaim::lse, 0); });
  }

  double output(std::size_t column) {
    for (std::size_t k = 0; k < visible_.keys(); ++k) {
      if (std::isnan(row_.values[visible_.items[k] * row_.value_size + column])) return nan;
    }
    return rounded(task_.contract.input, approximation(outputs_.total(column)),
                   [&] { return oracles_.value(AttentionClaim::output, column); });
  }

 private:
  // The row with NaN values replaced by 0: an oracle takes no NaN, and the other columns do not depend on it.
  const AttentionRow& finite() {
    for (double& value : values_) value = std::isnan(value) ? 0 : value;
    row_of_numbers_ = row_;
    row_of_numbers_.values = values_;
    return row_of_numbers_;
  }

  LongApproximation approximation(const LongApproximation& x) const {
    return softmax_.usable() ? x : LongApproximation{x.value, infinity};
  }

  const AttentionTask& task_;
  const AttentionRow& row_;
  std::vector<double> values_;
  AttentionRow row_of_numbers_;
  VisibleKeys visible_;
  LongSoftmax softmax_;
  ProductSums outputs_;
  QueryOracles oracles_;
};

}  // namespace

SavedOutputs saved_outputs(const AttentionTask& task, const AttentionCase& attention) {
  const AttentionShape& s = attention.shape;
  SavedOutputs saved;
  saved.out.resize(s.batch * s.heads() * s.queries * s.value_dim);
  saved.lse.resize(s.batch * s.heads() * s.queries);
  const std::vector<std::vector<double>> none;
  RepeatedRows repeated(attention, none);
  each_row(s, [&](std::size_t b, std::size_t h, std::size_t i) {
    if (i >= attention.queries_of(b)) return;  // beyond the sequence's end: sees nothing, whatever its numbers are
    const std::size_t number = row_number(s, b, h, i), like = repeated.first_like(b, h, i);
    if (like != number) {
      saved.lse[number] = saved.lse[like];
      std::copy_n(saved.out.begin() + static_cast<std::ptrdiff_t>(like * s.value_dim), s.value_dim,
                  saved.out.begin() + static_cast<std::ptrdiff_t>(number * s.value_dim));
      return;
    }
    const AttentionRow row = row_of(attention, b, h, i);
    const auto out = std::span(saved.out).subspan(number * s.value_dim, s.value_dim);
    if (!sees_a_key(row)) {
      saved.lse[number] = row.sink.value_or(-infinity);
    } else if (is_nan_row(row)) {
      std::ranges::fill(out, nan);
      saved.lse[number] = nan;
    } else {
      SavedQuery query(task, row);
      for (std::size_t c = 0; c < out.size(); ++c) out[c] = query.output(c);
      saved.lse[number] = query.logsumexp();
    }
  });
  return saved;
}

}  // namespace softcheck::proptests

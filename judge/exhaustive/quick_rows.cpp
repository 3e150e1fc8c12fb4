#include "judge/exhaustive/quick_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/formats/fp_environment.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Number of independent sums, so that the compiler can vectorize over them.
constexpr std::size_t lanes = 8;
// Margins for the library's exp, which errs by an ulp, and a few roundings around it.
constexpr double less = 1 - 0x1p-40, more = 1 + 0x1p-40;

double weight_below(double deviation) { return std::exp(-deviation) * less; }

// Sum of w over a row's items: eight lanes, then the lanes' sums.
double sum_of(std::span<const double> weights) {
  double lane[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= weights.size(); i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) lane[k] += weights[i + k];
  }
  double sum = 0;
  for (const double part : lane) sum += part;
  for (; i < weights.size(); ++i) sum += weights[i];
  return sum;
}

double moment_of(std::span<const double> weights, std::span<const double> deviations) {
  double lane[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= weights.size(); i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) lane[k] += weights[i + k] == 0 ? 0 : weights[i + k] * deviations[i + k];
  }
  double sum = 0;
  for (const double part : lane) sum += part;
  for (; i < weights.size(); ++i) sum += weights[i] == 0 ? 0 : weights[i] * deviations[i];
  return sum;
}

}  // namespace

QuickRows::QuickRows(const ArgumentForm& form, const Contract& contract, const RowShape& shape)
    : form_(form), contract_(contract), shape_(shape) {
  const FpEnvironmentGuard guard;
  const bool pair = shape.kind == RowKind::pairs;
  // All kinds but pairs of at most 16 bits and rows of any kind have a maximum of 0.
  const bool beside_zero = pair ? properties(contract.input).storage_bits > 16 : shape.kind != RowKind::any;
  const int roundings = (beside_zero ? 0 : 1) + (shape.theta == 1 ? 0 : 1);
  const std::size_t items = pair ? 2 : shape.columns;
  const std::size_t most_additions = items / lanes + lanes + lanes + 1;  // rounded down, and the 1 rounds up
  const double additions = pair ? 0 : static_cast<double>(most_additions);
  question_.value = form.value;
  question_.theta = shape.theta;
  question_.precision = properties(contract.output).precision;
  question_.smallest_normal = properties(contract.output).smallest_normal;
  question_.errors = argument_errors(form.value, roundings, std::max<std::size_t>(items, pair ? 2 : 3), additions);
  fill_table();
}

// The smallest statistics of a row whose items below the maximum have deviations in [lowest, highest]. w D and w D^2
// rise and then fall, so their minimum is at an end.
ArgumentThreshold QuickRows::threshold_of(double lowest, double highest, std::uint64_t rescalings) const {
  const auto columns = static_cast<double>(shape_.columns);
  const bool odd = shape_.kind == RowKind::odd_one;
  const double others = odd ? 1 : columns - 1, peaks = odd ? columns - 1 : 1;
  Statistics row;
  row.size = row.visible = shape_.columns;
  row.rescalings = rescalings;
  row.theta = shape_.theta;
  if (shape_.kind != RowKind::any) {
    const double low = weight_below(lowest), high = weight_below(highest);
    const double most = peaks + others * std::exp(-lowest) * more;
    const auto mean = [&](int power) {
      const auto at = [&](double weight, double end) { return weight == 0 ? 0 : weight * std::pow(end, power); };
      return UpperBound(others * std::min(at(low, lowest), at(high, highest)) / most * less);
    };
    row.log_sum = UpperBound(std::log1p(peaks - 1 + others * high) * less);
    row.mean_deviation = mean(1);
    row.mean_square_deviation = mean(2);
    row.largest_magnitude = UpperBound(lowest);
  }
  return with_magnitudes(form_, contract_, row);
}

void QuickRows::fill_table() {
  const std::uint64_t rescalings = [&]() -> std::uint64_t {
    if (shape_.kind == RowKind::any) return 0;
    std::vector<double> row(shape_.columns, 0.0);
    if (shape_.kind == RowKind::beside_maximum) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = -static_cast<double>(i);
      if (!shape_.maximum_first) std::rotate(row.begin(), row.begin() + 1, row.end());
    } else {
      row.back() = -1;
    }
    return rescaling_count(contract_, row);
  }();
  if (shape_.kind == RowKind::any) {
    const ArgumentThreshold one = threshold_of(0, 0, 0);
    for (std::size_t entry = 0; entry < ArgumentTable::entries; ++entry) table_.set(entry, one);
    return;
  }
  // Neighbouring numbers of a long row may belong to different entries.
  const double wider = shape_.kind == RowKind::beside_maximum ? static_cast<double>(shape_.columns) * 0x1p-22 : 0;
  for (std::size_t entry = 0; entry < ArgumentTable::entries; ++entry) {
    const double lowest = ArgumentTable::lower_end(entry) * (1 - std::min(wider, 1.0));
    const double highest = std::min(ArgumentTable::upper_end(entry) * (1 + wider), std::numeric_limits<double>::max());
    table_.set(entry, threshold_of(lowest, highest, entry == 0 ? 0 : rescalings));
  }
}

void QuickRows::add(const ArgumentFindings& part, std::size_t items_of_row, QuickFindings& found) const {
  for (const std::size_t at : part.open) {
    const std::size_t row = at / items_of_row;
    if (found.open.empty() || found.open.back() != row) found.open.push_back(row);
  }
  if (part.largest_share > found.share) {
    found.share = part.largest_share;
    found.share_row = part.largest_at / items_of_row;
  }
  found.row_sum_share = std::fmax(found.row_sum_share, part.row_sum_share);
  if (part.worst_ulps > found.worst_ulps) {
    found.worst_ulps = part.worst_ulps;
    found.worst_allowed = part.worst_allowed;
    found.worst_row = part.worst_at / items_of_row;
  }
  found.total_ulps += part.total_ulps;
  found.ulps += part.ulps;
}

void QuickRows::judge_pairs(std::span<const double> logits, std::span<const double> got, QuickFindings& found) {
  const std::size_t rows = logits.size() / 2;
  for (std::vector<double>* column : {&deviation_, &maximum_, &first_, &second_}) column->resize(rows);
  const double theta = shape_.theta;
  const bool scalar = is_scalar();
  for (std::size_t r = 0; r < rows; ++r) {
    const double a = logits[2 * r], b = logits[2 * r + 1];
    const bool second_is_larger = a < b;
    const double maximum = second_is_larger ? b : a, other = second_is_larger ? a : b;
    maximum_[r] = maximum;
    deviation_[r] = theta == 1 ? maximum - other : (maximum - other) / theta;
    if (scalar) continue;
    first_[r] = second_is_larger ? got[2 * r + 1] : got[2 * r];
    second_[r] = second_is_larger ? got[2 * r] : got[2 * r + 1];
  }
  ArgumentRows columns{.deviation = deviation_, .maximum = maximum_};
  columns.of_maximum = scalar ? got : std::span<const double>(first_);
  if (!scalar) columns.of_other = second_;
  add(judge_arguments(columns, table_, question_), 1, found);
}

// Finds the maximum and the lowest logit of each row. Returns the rows to which the quick test does not apply.
std::vector<std::size_t> QuickRows::find_ends(std::span<const double> logits) {
  const std::size_t n = shape_.columns, rows = logits.size() / n;
  const bool neighbours = shape_.kind == RowKind::beside_maximum;
  std::vector<std::size_t> open;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const double> row = logits.subspan(r * n, n);
    double maximum = shape_.maximum_first ? row[0] : row[n - 1],
           lowest = shape_.maximum_first ? row[n - 1] : row[n - 2];
    bool said = true;
    if (neighbours) {
      // If two neighbours are equal, the row has fewer rescalings than the others.
      said = row[0] != row[1] && row[n - 1] != row[n - 2] && maximum != (shape_.maximum_first ? row[1] : row[0]);
    } else {
      maximum = lowest = row[0];
      for (const double x : row) {
        maximum = x > maximum ? x : maximum;
        lowest = x < lowest ? x : lowest;
        said = said && std::isfinite(x);
      }
    }
    maximum_[r] = said ? maximum : 0;
    row_deviation_[r] = said ? (maximum - lowest) / shape_.theta : 0;
    if (!said) open.push_back(r);
  }
  return open;
}

// Computes per row the deviations, weights and S that all values depend on.
void QuickRows::weigh(std::span<const double> logits) {
  const std::size_t n = shape_.columns, rows = logits.size() / n;
  for (std::vector<double>* column : {&maximum_, &row_deviation_, &sum_}) column->resize(rows);
  unsaid_ = find_ends(logits);
  deviation_.resize(logits.size());
  weight_.resize(logits.size());
  for (std::size_t r = 0; r < rows; ++r) {
    const double maximum = maximum_[r], theta = shape_.theta;
    for (std::size_t i = r * n; i < (r + 1) * n; ++i) deviation_[i] = maximum - logits[i];
    if (theta == 1) continue;
    for (std::size_t i = r * n; i < (r + 1) * n; ++i) deviation_[i] /= theta;
  }
  argument_weights(deviation_, weight_);
  for (std::size_t r = 0; r < rows; ++r) sum_[r] = sum_of(std::span(weight_).subspan(r * n, n));
}

// Computes ln S and the moment, judges values of whole rows, then the items.
void QuickRows::judge_long(const QuickRows& weighed, std::span<const double> got, QuickFindings& found) {
  const std::size_t n = shape_.columns, rows = weighed.sum_.size();
  const bool scalar = is_scalar(), coefficient = form_.value == ArgumentValue::coefficient;
  log_sum_.resize(coefficient ? 0 : rows);
  moment_.resize(form_.value == ArgumentValue::entropy ? rows : 0);
  total_.resize(coefficient ? rows : 0);
  for (std::size_t r = 0; r < rows; ++r) {
    if (!coefficient) log_sum_[r] = std::log(weighed.sum_[r]);
    if (!moment_.empty()) {
      const auto weights = std::span(weighed.weight_).subspan(r * n, n);
      moment_[r] = moment_of(weights, std::span(weighed.deviation_).subspan(r * n, n)) / weighed.sum_[r];
    }
    if (coefficient) total_[r] = sum_of(got.subspan(r * n, n));
  }
  ArgumentRows whole{.deviation = weighed.row_deviation_,
                     .maximum = weighed.maximum_,
                     .total = total_,
                     .sum = weighed.sum_,
                     .log_sum = log_sum_,
                     .moment = moment_};
  if (scalar) {
    whole.of_maximum = got;
    add(judge_arguments(whole, table_, question_), 1, found);
  } else {
    judge_items(weighed, whole, got, found);
  }
  found.open.insert(found.open.end(), weighed.unsaid_.begin(), weighed.unsaid_.end());
  std::ranges::sort(found.open);
  // clang 14 cannot compile the subrange that std::ranges::unique returns.
  found.open.erase(std::unique(found.open.begin(), found.open.end()), found.open.end());
}

// Judges each item with its row's sum. The maximum's threshold depends on the row's lowest item, whose position is
// known for neighbours; for other rows all entries of the table are equal.
void QuickRows::judge_items(const QuickRows& weighed, ArgumentRows whole, std::span<const double> got,
                            QuickFindings& found) {
  const std::size_t n = shape_.columns, rows = weighed.sum_.size();
  const bool neighbours = shape_.kind == RowKind::beside_maximum;
  const std::size_t top = shape_.maximum_first ? 0 : n - 1, first = neighbours && top == 0 ? 1 : 0;
  const std::size_t count = neighbours ? n - 1 : n;
  if (neighbours) {
    first_.resize(rows);
    for (std::size_t r = 0; r < rows; ++r) first_[r] = got[r * n + top];
    whole.of_maximum = first_;
  }
  if (neighbours || !total_.empty()) add(judge_arguments(whole, table_, question_), 1, found);
  item_sum_.resize(rows * count);
  for (std::vector<double>* column : {&item_deviation_, &item_got_}) column->resize(neighbours ? rows * count : 0);
  for (std::vector<double>* column : {&item_log_sum_, &item_maximum_})
    column->resize(log_sum_.empty() ? 0 : rows * count);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto to = static_cast<std::ptrdiff_t>(r * count), from = static_cast<std::ptrdiff_t>(r * n + first);
    if (neighbours) {
      std::copy_n(weighed.deviation_.begin() + from, count, item_deviation_.begin() + to);
      std::copy_n(got.begin() + from, count, item_got_.begin() + to);
    }
    std::fill_n(item_sum_.begin() + to, count, weighed.sum_[r]);
    if (log_sum_.empty()) continue;
    std::fill_n(item_log_sum_.begin() + to, count, log_sum_[r]);
    std::fill_n(item_maximum_.begin() + to, count, weighed.maximum_[r]);
  }
  const ArgumentRows items{.deviation = neighbours ? item_deviation_ : weighed.deviation_,
                           .maximum = item_maximum_,
                           .of_other = neighbours ? std::span<const double>(item_got_) : got,
                           .sum = item_sum_,
                           .log_sum = item_log_sum_};
  add(judge_arguments(items, table_, question_), count, found);
}

QuickFindings QuickRows::judge(std::span<const double> logits, std::span<const double> got) {
  const FpEnvironmentGuard guard;
  QuickFindings found;
  if (shape_.kind == RowKind::pairs) {
    judge_pairs(logits, got, found);
  } else {
    weigh(logits);
    judge_long(*this, got, found);
  }
  return found;
}

QuickFindings QuickRows::judge_rows_of(const QuickRows& other, std::span<const double> got) {
  const FpEnvironmentGuard guard;
  QuickFindings found;
  judge_long(other, got, found);
  return found;
}

}  // namespace softcheck::proptests

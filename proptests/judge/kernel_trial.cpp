#include "proptests/judge/kernel_trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace softcheck::proptests {
namespace {

using numerics::Certificate;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The layouts that kernels get wrong, one for each size of a row: which one is no choice of chance, so that a case
// replays.
Layout layout_for(std::size_t columns) {
  static constexpr Layout layouts[] = {
      {.column_stride = 1, .row_gap = 0, .offset = 0, .against_the_end = false},
      {.column_stride = 1, .row_gap = 3, .offset = 0, .against_the_end = true},
      {.column_stride = 2, .row_gap = 0, .offset = 0, .against_the_end = true},
      {.column_stride = 1, .row_gap = 0, .offset = 1, .against_the_end = true},
      {.column_stride = 3, .row_gap = 5, .offset = 7, .against_the_end = true},
  };
  return layouts[columns % std::size(layouts)];
}

std::string describe(const Layout& layout) {
  return " layout(column_stride=" + std::to_string(layout.column_stride) +
         " row_gap=" + std::to_string(layout.row_gap) + " offset=" + std::to_string(layout.offset) + ")";
}

// How many rows stand together: odd and even numbers, below and above the widths that kernels take at once; chosen by
// the row's size, as the layout is, and coprime to its choices.
std::size_t rows_for(std::size_t columns) { return 3 + columns % 7; }

// The row, backwards, with its signs changed (every number of a format has its negative), and again.
std::vector<double> with_neighbours(const std::vector<double>& row, std::size_t rows) {
  std::vector<double> result;
  result.reserve(rows * row.size());
  for (std::size_t r = 0; r < rows; ++r) {
    if (r % 3 == 0) result.insert(result.end(), row.rbegin(), row.rend());
    if (r % 3 == 1) result.insert(result.end(), row.begin(), row.end());
    if (r % 3 != 2) continue;
    for (double logit : row) result.push_back(std::isinf(logit) ? logit : -logit);
  }
  return result;
}

std::string in_row(std::size_t row, std::size_t rows) {
  return " row " + std::to_string(row) + " of " + std::to_string(rows);
}

const char* kind_of(const KernelCall& call) {
  if (!call.mask.empty()) return "with a mask";
  if (call.layout.column_stride != 1) return "with a column stride";
  if (call.layout.row_gap != 0) return "with a row gap";
  if (call.theta != 1) return "at theta != 1";
  return call.rows == 1 ? "with one compact row" : "with compact rows";
}

}  // namespace

KernelTrial::KernelTrial(const KernelSubject& subject, const KernelLimits& limits)
    : subject_(subject), kernel_(subject.source, limits, subject.exempt) {}

std::vector<std::string> KernelTrial::value_claims() const {
  switch (subject_.op) {
    case Op::softmax:
      return {"kernel.softmax.element", "kernel.softmax.row_sum"};
    case Op::log_softmax:
      return {"kernel.log_softmax.element"};
    case Op::logsumexp:
      return {"kernel.logsumexp.value"};
    case Op::entropy:
      return {"kernel.entropy.value"};
    case Op::adaptive_softmax:
      return {"kernel.adaptive_softmax.element"};
  }
  return {};
}

KernelCall KernelTrial::call_for(double theta, std::int64_t rows, std::vector<double> logits,
                                 const Layout& layout) const {
  KernelCall call;
  call.op = subject_.op;
  call.input = subject_.contract.input;
  call.output = subject_.contract.output;
  call.rows = rows;
  call.columns = static_cast<std::int64_t>(logits.size()) / rows;
  call.logits = std::move(logits);
  call.theta = theta;
  call.layout = layout;
  if (!is_row_scalar(subject_.op)) call.output_layout = layout;
  call.output_layout.against_the_end = call.mask_layout.against_the_end = layout.against_the_end;
  return call;
}

std::vector<double> KernelTrial::call(const KernelCall& call, const std::string& witness, Certificates& certificates) {
  std::vector<std::vector<double>> outputs = kernel_.call(lowered(call), kind_of(call), witness, certificates);
  return outputs.empty() ? std::vector<double>{} : std::move(outputs.front());
}

void KernelTrial::judge(std::span<const double> logits, double theta, std::span<const double> got,
                        const std::string& witness, Certificates& certificates) {
  RowFindings findings = judge_row(subject_.op, subject_.contract, logits, theta, got, witness);
  vacuity_ += findings.vacuity;
  std::ranges::move(findings.certificates, std::back_inserter(certificates));
}

std::span<const double> KernelTrial::row_of(std::span<const double> outputs, std::size_t row,
                                            std::size_t columns) const {
  return is_row_scalar(subject_.op) ? outputs.subspan(row, 1) : outputs.subspan(row * columns, columns);
}

Certificates KernelTrial::alone(const RowCase& row_case) {
  Certificates certificates;
  const std::string witness = to_text(row_case);
  const std::vector<double> logits = row_case.row.expand();
  const KernelCall real = call_for(row_case.theta, 1, logits, {});
  KernelCall decoy = real;
  std::ranges::reverse(decoy.logits);
  for (double& logit : decoy.logits) {
    if (std::isfinite(logit)) logit = -logit;
  }
  call(decoy, witness + " (as a decoy, backwards and negated)", certificates);
  const std::vector<double> got = call(real, witness, certificates);
  if (got.empty()) return certificates;
  judge(logits, row_case.theta, got, witness, certificates);
  const std::vector<double> again = call(real, witness, certificates);
  if (again.empty()) return certificates;
  if (!same_bits(got, again)) {
    judge(logits, row_case.theta, again, witness + " (second call)", certificates);
  }
  kernel_.compare(got, again, subject_.required.deterministic, "kernel.deterministic",
                  "a second call with the same row gave other bits", witness, certificates);
  return certificates;
}

Certificates KernelTrial::among_neighbours(const RowCase& row_case) {
  Certificates certificates;
  const std::vector<double> logits = row_case.row.expand();
  const std::size_t n = logits.size(), rows = rows_for(n);
  const Layout layout = layout_for(n);
  const std::string witness = to_text(row_case) + describe(layout);
  const std::vector<double> all = with_neighbours(logits, rows);
  const std::vector<double> got =
      call(call_for(row_case.theta, static_cast<std::int64_t>(rows), all, layout), witness, certificates);
  if (got.empty()) return certificates;
  for (std::size_t r = 0; r < rows; ++r) {
    // What has been judged once needs no second judgement.
    if (r >= 3 && same_bits(row_of(got, r, n), row_of(got, r - 3, n))) continue;
    judge(std::span(all).subspan(r * n, n), row_case.theta, row_of(got, r, n), witness + in_row(r, rows), certificates);
  }
  const std::vector<double> alone = call(call_for(row_case.theta, 1, logits, {}), witness, certificates);
  if (alone.empty()) return certificates;
  // The last copy of the row: the others before it are as likely to share its path through the kernel.
  const std::size_t last = rows - 1 - (rows - 2) % 3;
  for (std::size_t r : {std::size_t{1}, last}) {
    kernel_.compare(row_of(got, r, n), alone, subject_.required.batch_invariant, "kernel.batch_invariant",
                    "a row's bits depend on its layout or its neighbours", witness + in_row(r, rows), certificates);
  }
  return certificates;
}

Certificates KernelTrial::behind_a_mask(const RowCase& row_case) {
  Certificates certificates;
  const std::string witness = to_text(row_case) + " (every third item masked)";
  std::vector<double> logits = row_case.row.expand();
  std::vector<double> deleted = logits;
  std::vector<std::uint8_t> mask(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    mask[i] = i % 3 != 1;
    if (mask[i]) continue;
    deleted[i] = -infinity;
    // Behind the mask: what an unwritten cache may hold.
    logits[i] = i % 2 ? nan : numerics::properties(subject_.contract.input).largest;
  }
  KernelCall masked = call_for(row_case.theta, 1, logits, {});
  masked.mask = std::move(mask);
  const std::vector<double> got = call(masked, witness, certificates);
  const bool fully_masked = std::ranges::all_of(deleted, [](double logit) { return std::isinf(logit); });
  if (!got.empty() && !fully_masked) judge(deleted, row_case.theta, got, witness, certificates);
  return certificates;
}

Certificates KernelTrial::fully_masked(const RowCase& row_case) {
  Certificates certificates;
  const std::vector<double> nothing(row_case.row.size(), -infinity);
  const bool by_mask = nothing.size() % 2 == 1;
  KernelCall masked = call_for(1, 1, by_mask ? row_case.row.expand() : nothing, {});
  if (by_mask) masked.mask.assign(nothing.size(), 0);
  const std::string witness = to_text(row_case) + (by_mask ? " (all masked)" : " (its items -inf)");
  const std::vector<double> got = call(masked, witness, certificates);
  if (!got.empty()) judge(nothing, 1, got, witness, certificates);
  return certificates;
}

Certificates KernelTrial::with_a_nan(const RowCase& row_case) {
  Certificates certificates;
  const std::vector<double> logits = row_case.row.expand();
  const std::size_t n = logits.size();
  // First, last, or in the middle: a maximum that drops NaN may do so by place.
  const std::size_t place = n % 3 == 0 ? 0 : n % 3 == 1 ? n - 1 : n / 2;
  const std::string witness = to_text(row_case) + " (item " + std::to_string(place) + " of the middle row NaN)";
  std::vector<double> rows;
  for (int i = 0; i < 3; ++i) rows.insert(rows.end(), logits.begin(), logits.end());
  rows[n + place] = nan;
  const std::vector<double> got = call(call_for(row_case.theta, 3, rows, {}), witness, certificates);
  if (got.empty()) return certificates;
  const std::span<const double> middle = row_of(got, 1, n);
  const auto is_nan = [](double value) { return std::isnan(value); };
  const auto numbers = static_cast<std::ptrdiff_t>(middle.size()) - std::ranges::count_if(middle, is_nan);
  certificates.push_back(observed("kernel.nan_row", witness, static_cast<std::size_t>(numbers)));
  for (std::size_t r : {0, 2}) {
    judge(logits, row_case.theta, row_of(got, r, n), witness + in_row(r, 3), certificates);
  }
  return certificates;
}

}  // namespace softcheck::proptests

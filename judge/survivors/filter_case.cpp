#include "judge/survivors/filter_case.hpp"

#include <algorithm>
#include <numeric>

#include "numerics/filter/row_filter.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

std::vector<std::size_t> descending(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

std::vector<double> top_p_of(const std::vector<double>& logits, double top_p) {
  std::vector<double> p, result(logits.size());
  for (const auto& [lower, upper] : numerics::filter_softmax(logits, numerics::filter_row(logits))) {
    p.push_back(lower + (upper - lower) / 2);
  }
  const std::vector<std::size_t> order = descending(logits);
  long double mass = 0;
  std::size_t kept = 0;
  while (kept < order.size() && mass < top_p) mass += p[order[kept++]];
  for (std::size_t k = 0; k < kept; ++k) result[order[k]] = static_cast<double>(p[order[k]] / mass);
  return result;
}

std::vector<double> sparsemax_of(const std::vector<double>& logits) {
  const std::vector<std::size_t> order = descending(logits);
  long double sum = 0, tau = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const long double next = sum + logits[order[k]];
    if (1 + static_cast<long double>(k + 1) * logits[order[k]] <= next) break;
    sum = next;
    tau = (sum - 1) / static_cast<long double>(k + 1);
  }
  std::vector<double> result;
  for (const double x : logits) result.push_back(static_cast<double>(std::max(x - tau, 0.0L)));
  return result;
}

template <class ValuesOf>
CriterionCase filtered_case(const FilteredRows& rows, const std::function<double()>& logit,
                            std::vector<Comparison> comparisons, ValuesOf values_of) {
  TensorPlace place;
  place.format = Format::f32;
  place.shape = {rows.rows, rows.columns};
  place.against_the_end = false;
  InputTensor logits{place, {}};
  CriterionCase result;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    std::vector<double> of_row;
    for (std::int64_t i = 0; i < rows.columns; ++i) of_row.push_back(numerics::round_to(Format::f32, logit()));
    for (const double value : values_of(of_row)) result.expected.push_back(numerics::round_to(Format::f32, value));
    logits.values.insert(logits.values.end(), of_row.begin(), of_row.end());
  }
  result.call.inputs = {std::move(logits)};
  result.call.outputs = {{place, {}}};
  result.call.roles = {Role::logits};
  result.row_length = static_cast<std::size_t>(rows.columns);
  result.comparisons = std::move(comparisons);
  return result;
}

}  // namespace

CriterionCase top_p_case(const FilteredRows& rows, const std::function<double()>& logit,
                         std::vector<Comparison> comparisons) {
  CriterionCase result = filtered_case(rows, logit, std::move(comparisons),
                                       [&](const std::vector<double>& logits) { return top_p_of(logits, rows.top_p); });
  result.call.op = SOFTCHECK_OP_TOP_P_SOFTMAX;
  result.call.attributes.top_p = rows.top_p;
  return result;
}

CriterionCase sparsemax_case(const FilteredRows& rows, const std::function<double()>& logit,
                             std::vector<Comparison> comparisons) {
  CriterionCase result = filtered_case(rows, logit, std::move(comparisons), sparsemax_of);
  result.call.op = SOFTCHECK_OP_SPARSEMAX;
  return result;
}

}  // namespace softcheck::proptests

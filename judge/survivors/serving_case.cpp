#include "judge/survivors/serving_case.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "numerics/filter/row_filter.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

TensorPlace plain_place(std::optional<Format> format, std::vector<std::int64_t> shape) {
  TensorPlace place;
  place.format = format;
  place.shape = std::move(shape);
  place.integer_bits = 32;  // ids
  place.against_the_end = false;
  return place;
}

std::vector<double> coefficients_of(const std::vector<double>& logits, const numerics::FilterStatistics& statistics) {
  std::vector<double> values;
  for (const auto& [lower, upper] : numerics::filter_softmax(logits, statistics)) {
    values.push_back(lower + (upper - lower) / 2);
  }
  return values;
}

// The indices of the k largest, descending.
std::vector<std::size_t> largest(const std::vector<double>& values, std::int32_t k) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(static_cast<std::size_t>(k));
  return order;
}

}  // namespace

CriterionCase merge_case(const PartialStates& states, const std::function<double()>& value,
                         std::vector<Comparison> comparisons) {
  const auto rows = static_cast<std::size_t>(states.rows), dim = static_cast<std::size_t>(states.dim);
  const auto parts = static_cast<std::size_t>(states.parts);
  InputTensor out{plain_place(states.format, {states.parts, states.rows, states.dim}), {}};
  for (std::size_t i = 0; i < parts * rows * dim; ++i) out.values.push_back(numerics::round_to(states.format, value()));
  CriterionCase result;
  std::vector<double> merged;
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<double> lse;
    for (std::size_t part = 0; part < parts; ++part) lse.push_back(states.lse[part * rows + row]);
    const numerics::FilterStatistics statistics = numerics::filter_row(lse);
    if (statistics.visible == 0) throw std::invalid_argument("merge_case: need a part that is not empty in every row");
    const std::vector<double> weights = coefficients_of(lse, statistics);
    for (std::size_t c = 0; c < dim; ++c) {
      double sum = 0;
      for (std::size_t part = 0; part < parts; ++part) sum += weights[part] * out.values[(part * rows + row) * dim + c];
      result.expected.push_back(numerics::round_to(states.format, sum));
    }
    merged.push_back(statistics.maximum + std::log1p(statistics.sum_minus_one.value));
  }
  result.call.inputs = {std::move(out), {plain_place(Format::f32, {states.parts, states.rows}), states.lse}};
  result.call.outputs = {{plain_place(states.format, {states.rows, states.dim}), {}},
                         {plain_place(Format::f32, {states.rows}), {}}};
  result.call.op = SOFTCHECK_OP_MERGE_STATES;
  result.call.roles = {Role::out, Role::lse};
  result.others = {{std::move(merged), comparisons}};
  result.row_length = dim;
  result.comparisons = std::move(comparisons);
  return result;
}

CriterionCase topk_case(const RouterLogits& router, const std::function<double()>& logit,
                        std::vector<Comparison> comparisons) {
  InputTensor logits{plain_place(Format::f32, {router.tokens, router.experts}), {}};
  CriterionCase result;
  std::vector<double> ids;
  for (std::int64_t token = 0; token < router.tokens; ++token) {
    std::vector<double> row;
    for (std::int64_t i = 0; i < router.experts; ++i) row.push_back(numerics::round_to(Format::f32, logit()));
    const std::vector<double> p = coefficients_of(row, numerics::filter_row(row));
    double sum = 0;
    for (const std::size_t id : largest(row, router.k)) sum += p[id];
    for (const std::size_t id : largest(row, router.k)) {
      result.expected.push_back(numerics::round_to(Format::f32, router.renormalize ? p[id] / sum : p[id]));
      ids.push_back(static_cast<double>(id));
    }
    logits.values.insert(logits.values.end(), row.begin(), row.end());
  }
  const std::vector<std::int64_t> chosen{router.tokens, router.k};
  result.call.inputs = {std::move(logits)};
  result.call.outputs = {{plain_place(Format::f32, chosen), {}}, {plain_place(std::nullopt, chosen), {}}};
  result.call.op = SOFTCHECK_OP_TOPK_SOFTMAX;
  result.call.roles = {Role::logits};
  result.call.attributes.k = router.k;
  result.call.attributes.renormalize = router.renormalize;
  result.others = {{std::move(ids), {{Comparison::Rule::allclose, 0, 0}}}};
  result.row_length = static_cast<std::size_t>(router.k);
  result.comparisons = std::move(comparisons);
  return result;
}

}  // namespace softcheck::proptests

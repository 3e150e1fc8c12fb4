// Exact values and thresholds of every element, row by row; the contract's formats and the outputs' shapes of a task.
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "judge/ops/attention/differential_thresholds.hpp"
#include "judge/ops/attention/sigmoid_thresholds.hpp"
#include "judge/ops/rows/call_judge.hpp"
#include "judge/results/attention_tensors.hpp"
#include "judge/results/exact_query.hpp"
#include "judge/results/gradient_judge.hpp"
#include "judge/results/gradient_tensors.hpp"
#include "judge/results/linear_tensors.hpp"
#include "judge/results/row_tensors.hpp"
#include "judge/results/task_checks.hpp"
#include "judge/results/tensor_judge.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Contract;
using numerics::Enclosure;
using numerics::infinity;
using numerics::MaskedRows;
using numerics::nan;

void require_room(const TensorTask& task, std::size_t which, std::size_t room) {
  const Shape shape = output_shape(task, which);
  const std::size_t need = elements_of(shape, output_name(task.op, which));
  if (room == need) return;
  throw std::invalid_argument(output_name(task.op, which) + ": need room for " + std::to_string(need) +
                              " values of shape " + shape_text(shape) + ", got " + std::to_string(room));
}

void require_input(const TensorTask& task, const Contract& contract) {
  if (input_format(task) == contract.input) return;
  throw std::invalid_argument(std::string(to_string(role_of_format(task.op))) + ": need dtype " +
                              std::string(numerics::properties(contract.input).name) +
                              ", as the contract has it, got " +
                              std::string(numerics::properties(input_format(task)).name));
}

// Calls fill(kind, logits, auxiliary, values...) for every row with room for all outputs' values, and keeps those of
// output `which`.
template <class Fill, class... Values>
void over_rows(const TensorTask& task, std::size_t which, Fill&& fill, Values... taken) {
  const RowTensors tensors(task);
  std::vector<double> logits(tensors.columns());
  std::vector<std::vector<double>> auxiliary;
  std::size_t first = 0;
  for (std::size_t before = 0; before < which; ++before) first += tensors.values_of(before);
  const std::size_t n = tensors.values_of(which);
  std::array<std::vector<double>, sizeof...(taken)> rooms;
  for (std::vector<double>& room : rooms) room.resize(tensors.values());
  const std::array<std::span<double>, sizeof...(taken)> targets{taken...};
  for (std::size_t row = 0; row < tensors.rows(); ++row) {
    const RowKind kind = tensors.load(row, logits, auxiliary);
    std::apply(
        [&](auto&... room) { fill(kind, std::span<const double>(logits), auxiliary, std::span<double>(room)...); },
        rooms);
    for (std::size_t k = 0; k < rooms.size(); ++k) {
      std::ranges::copy(std::span(rooms[k]).subspan(first, n), targets[k].subspan(row * n, n).begin());
    }
  }
}

// Empty unless the op reads whole calls.
CountedRows counted_of(const TensorTask& task, const Contract& contract) {
  return task.op->of_whole_calls ? counted_rows(task.op, RowTensors(task).call(contract)) : CountedRows{};
}

AttentionTask attention_task(const TensorTask& task, const Contract& contract) {
  AttentionTask result{task.op, contract, output_format(task.op, contract.input)};
  if (task.op->sigmoid) result.contract.masked = MaskedRows::zero;
  return result;
}

// Value c of the output, or the lse or entropy, of a query without visible keys.
DoubleBounds masked_value(const Contract& contract, const AttentionRow& row, std::size_t which, std::size_t c) {
  const std::size_t n = row.visible.size();
  if (row.sink) return which == 1 ? DoubleBounds{*row.sink, *row.sink} : DoubleBounds{0, 0};
  if (which == 1) return {-infinity, -infinity};
  if (contract.masked == MaskedRows::nan) return {nan, nan};
  if (contract.masked == MaskedRows::zero || n == 0) return {0, 0};
  if (which == 2) return bounds_of(log(Enclosure::integer(n)));
  Enclosure sum(0);
  for (std::size_t j = 0; j < n; ++j) {
    const double value = row.values[j * row.value_size + c];
    if (!std::isfinite(value)) return {nan, nan};
    sum += Enclosure(value);
  }
  return bounds_of((Enclosure(1) - Enclosure(row.lambda)) * sum / Enclosure::integer(n));  // lambda may be 0
}

std::vector<std::size_t> visible_items(const AttentionRow& row) {
  std::vector<std::size_t> items;
  for (std::size_t j = 0; j < row.visible.size(); ++j) {
    if (row.visible[j] != 0) items.push_back(j);
  }
  return items;
}

// The limit of a column with an infinity, or NaN.
double infinite_column(const AttentionRow& row, std::size_t c) {
  if (row.lambda != 0) return nan;  // a difference of weights may have any sign
  double limit = 0;
  for (std::size_t j = 0; j < row.visible.size(); ++j) {
    if (row.visible[j] != 0 && !std::isfinite(row.values[j * row.value_size + c])) {
      limit += row.values[j * row.value_size + c];
    }
  }
  return limit;
}

void exact_query(const AttentionTask& task, AttentionTensors& tensors, QueryKind kind, std::size_t which,
                 std::span<double> lower, std::span<double> upper) {
  const auto set = [&](std::size_t c, const DoubleBounds& bounds) {
    lower[c] = bounds.lower;
    upper[c] = bounds.upper;
  };
  if (kind == QueryKind::nothing || kind == QueryKind::unasked) {
    for (std::size_t c = 0; c < lower.size(); ++c) set(c, masked_value(task.contract, tensors.row(), which, c));
    return;
  }
  if (kind != QueryKind::usual) {
    for (std::size_t c = 0; c < lower.size(); ++c) set(c, {nan, nan});
    return;
  }
  std::vector<std::size_t> left;
  const AttentionRow row = tensors.usual_row(left);
  const std::vector<std::size_t> items = visible_items(row);
  ExactQuery exact(task, row, items);
  if (which > 0) return set(0, which == 1 ? exact.logsumexp() : exact.entropy());
  for (std::size_t c = 0; c < tensors.columns().size(); ++c) {
    const double limit = infinite_column(tensors.row(), c);
    set(c, {limit, limit});
  }
  std::vector<DoubleBounds> values(left.size());
  exact.output(values);
  for (std::size_t k = 0; k < left.size(); ++k) set(left[k], values[k]);
}

void granted_query(const AttentionTask& task, AttentionTensors& tensors, QueryKind kind, std::size_t which,
                   std::span<double> allowed) {
  std::ranges::fill(allowed, nan);
  if (kind != QueryKind::usual) return;
  std::vector<std::size_t> left;
  const AttentionRow row = tensors.usual_row(left);
  const VisibleKeys visible(task.contract, row);
  const auto of_columns = [&](const auto& thresholds) {
    for (std::size_t k = 0; k < left.size(); ++k) allowed[left[k]] = granted(task.contract, thresholds.column(k));
  };
  if (task.op->sigmoid) return of_columns(SigmoidThresholds(task, row, visible));
  if (task.op->differential) return of_columns(DifferentialThresholds(task, row, visible));
  const AttentionThresholds thresholds(task, row, visible);
  const bool usable = thresholds.usable();
  Contract of_scalars = task.contract;
  of_scalars.output = task.scalars;
  if (which == 1) allowed[0] = usable ? granted(of_scalars, thresholds.logsumexp()) : infinity;
  if (which == 2) allowed[0] = usable ? granted(of_scalars, thresholds.entropy()) : infinity;
  for (std::size_t k = 0; which == 0 && k < left.size(); ++k) {
    allowed[left[k]] = usable ? granted(task.contract, thresholds.column(k)) : infinity;
  }
}

// Calls each(tensors, kind, first value, values) for every query.
template <class Each>
void over_queries(const TensorTask& task, std::size_t which, Each&& each) {
  AttentionTensors tensors(task);
  const std::size_t values = which == 0 ? tensors.value_size() : 1;
  for (std::size_t row = 0; row < tensors.rows(); ++row) {
    const QueryKind kind = tensors.load(row);
    each(tensors, kind, row * values, values);
  }
}

}  // namespace

void reference(const TensorTask& task, const Contract& contract, std::size_t which, std::span<double> lower,
               std::span<double> upper) {
  const numerics::FpEnvironmentGuard environment;
  require_room(task, which, lower.size());
  require_room(task, which, upper.size());
  require_input(task, contract);
  const numerics::PrecisionScope precision(113);
  if (task.op->is_linear()) return reference_of_linear(task, contract, which, lower, upper);
  if (is_attention_gradient(task.op)) return reference_of_gradient(task, contract, which, lower, upper);
  if (task.op->is_attention()) {
    const AttentionTask by = attention_task(task, contract);
    return over_queries(task, which, [&](AttentionTensors& tensors, QueryKind kind, std::size_t at, std::size_t n) {
      exact_query(by, tensors, kind, which, lower.subspan(at, n), upper.subspan(at, n));
    });
  }
  if (has_one_value(task.op)) return exact_call(task.op, RowTensors(task).call(contract), lower[0], upper[0]);
  const CountedRows counted = counted_of(task, contract);
  const auto fill = [&](RowKind kind, std::span<const double> logits, std::span<const std::vector<double>> auxiliary,
                        std::span<double> low, std::span<double> high) {
    if (kind == RowKind::nan || kind == RowKind::unasked || (counted.divides_by_nothing && kind == RowKind::usual)) {
      std::ranges::fill(low, nan);
      std::ranges::fill(high, nan);
    } else if (kind == RowKind::ignored) {
      std::ranges::fill(low, 0);
      std::ranges::fill(high, 0);
    } else if (kind == RowKind::nothing) {
      exact_masked_row(task.op, contract, logits.size(), low, high, task.attributes);
    } else {
      exact_row(task.op, contract, logits, task.theta, low, high, auxiliary, task.attributes, counted.weights);
    }
  };
  over_rows(task, which, fill, lower, upper);
}

void thresholds(const TensorTask& task, const Contract& contract, std::size_t which, std::span<double> allowed) {
  const numerics::FpEnvironmentGuard environment;
  require_room(task, which, allowed.size());
  require_input(task, contract);
  const numerics::PrecisionScope precision(113);
  if (task.op->is_linear()) return thresholds_of_linear(task, contract, which, allowed);
  if (is_attention_gradient(task.op)) return thresholds_of_gradient(task, contract, which, allowed);
  if (task.op->is_attention()) {
    const AttentionTask by = attention_task(task, contract);
    return over_queries(task, which, [&](AttentionTensors& tensors, QueryKind kind, std::size_t at, std::size_t n) {
      granted_query(by, tensors, kind, which, allowed.subspan(at, n));
    });
  }
  if (has_one_value(task.op)) {
    allowed[0] = granted_call(task.op, RowTensors(task).call(contract));
    return;
  }
  const CountedRows counted = counted_of(task, contract);
  const auto fill = [&](RowKind kind, std::span<const double> logits, std::span<const std::vector<double>> auxiliary,
                        std::span<double> granted) {
    if (kind == RowKind::nan || kind == RowKind::nothing || kind == RowKind::unasked ||
        (counted.divides_by_nothing && kind == RowKind::usual)) {
      std::ranges::fill(granted, nan);
    } else if (kind == RowKind::ignored) {
      std::ranges::fill(granted, 0);
    } else {
      granted_row(task.op, contract, logits, task.theta, granted, auxiliary, task.attributes, counted.weights);
    }
  };
  over_rows(task, which, fill, allowed);
}

numerics::Contract contract_for(const TensorTask& task, std::string_view words,
                                std::optional<numerics::Format> output) {
  const numerics::Format input = input_format(task);
  const bool as_inputs = task.op->is_attention() && (!task.op->is_linear() || has_parts(task.op));
  const numerics::Format usual = as_inputs ? input : output_format(task.op, input);
  return numerics::parse_contract(words, input, output.value_or(usual));
}

std::vector<std::int64_t> output_shape(const TensorTask& task, std::size_t which) {
  require_output_number(task, which);
  if (!task.op->is_attention()) return RowTensors(task).output_shape(which);
  if (task.op->is_linear()) return shape_of_linear(task, which);
  return is_attention_gradient(task.op) ? GradientTensors(task).output_shape(which)
                                        : AttentionTensors(task).output_shape(which);
}

}  // namespace softcheck::proptests

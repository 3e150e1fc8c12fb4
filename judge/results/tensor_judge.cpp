#include "judge/results/tensor_judge.hpp"

#include <algorithm>
#include <cmath>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/rows/call_judge.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "judge/results/attention_tensors.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/gradient_judge.hpp"
#include "judge/results/linear_tensors.hpp"
#include "judge/results/row_tensors.hpp"
#include "judge/results/task_checks.hpp"
#include "judge/results/tensor_tally.hpp"
#include "numerics/filter/certified_sum.hpp"
#include "numerics/filter/filter_errors.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Contract;
using numerics::Decision;
using numerics::Enclosure;

constexpr std::string_view nan_is_due = "a NaN is visible, so that NaN is due";

// A row with a NaN: its numbers must be NaN, and its indices valid.
RowVerdicts nan_verdicts(const RowTensors& tensors, std::span<const double> got) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!tensors.is_index(i)) {
      numbers.push_back(got[i]);
    } else if (!is_item(got[i], tensors.columns())) {
      return {{identity_finding("kernel.nan_row", false, got[i], i, "an id is no item's index")}, {}};
    }
  }
  return {{nan_finding(numbers, tensors.has_items() ? numbers.size() : 0, nan_is_due)}, {}};
}

// The first nonzero value of a row with an ignored label.
ValueFinding ignored_finding(const TensorTask& task, std::span<const double> got) {
  const auto other = std::ranges::find_if(got, [](double value) { return value != 0; });
  const bool holds = other == got.end();
  const auto item =
      holds || task.op->one_value_per_row ? std::nullopt : std::optional<std::size_t>(other - got.begin());
  return identity_finding(task.op->claims[0], holds, holds ? 0 : *other, item,
                          "the row's label is ignored, so that 0 is due");
}

// The first item with a NaN logit whose value is not NaN.
ValueFinding nan_items_finding(std::span<const double> logits, std::span<const double> got) {
  std::size_t i = 0;
  while (i < got.size() && !(std::isnan(logits[i]) && !std::isnan(got[i]))) ++i;
  const bool holds = i == got.size();
  return identity_finding("kernel.nan_row", holds, holds ? numerics::nan : got[i],
                          holds ? std::nullopt : std::optional(i), "the item is NaN, so that NaN is due");
}

RowVerdicts limit_verdicts(const TensorTask& task, const Contract& contract, std::span<const double> logits,
                           std::span<const double> got) {
  constexpr std::string_view claim = "kernel.infinite_row";
  RowVerdicts limit = judge_limit(task.op, contract, logits, task.theta, got);
  // Only rows of finite numbers count for vacuity.
  RowVerdicts result;
  for (ValueFinding& finding : limit.findings) {
    finding.claim = claim;
    result.findings.push_back(std::move(finding));
  }
  if (result.findings.empty())
    result.findings.push_back(identity_finding(claim, true, numerics::nan, std::nullopt, ""));
  return result;
}

// Rows that the filter proves, and that no report shows, need no further work.
bool is_quick(const TensorTask& task, const Contract& contract, RowKind kind, std::size_t row,
              std::span<const double> logits, std::span<const double> got, TensorTally& tally) {
  if (task.op != Op::softmax || kind != RowKind::usual) return false;
  const std::optional<QuickRow> quick = quick_softmax(contract, logits, task.theta, got);
  return quick && tally.add_quick(row, *quick);
}

// Judges the one value of all rows.
TensorJudgement judge_one_value(const TensorTask& task, const Contract& contract, const GivenTensor& output,
                                const RowTensors& tensors, const TensorOptions& options) {
  TensorTally tally(task, contract, wide_format(contract.input), options);
  std::vector<double> got(1);
  decode_elements(output, 0, 1, got);
  tally.run([&] {
    RowVerdicts verdicts = judge_call(task.op, tensors.call(contract), got[0]);
    if (verdicts.findings.empty() && verdicts.vacuity.rows == 0) {
      tally.skip("an infinity in a row that counts, or a divisor of 0, of which the ABI promises nothing");
    } else {
      tally.add(0, std::move(verdicts));
    }
  });
  return tally.judgement();
}

struct CallAtHand {
  const TensorTask& task;
  const Contract& contract;
  const RowTensors& tensors;
  const CountedRows& counted;
};

void judge_row_at_hand(const CallAtHand& call, std::size_t row, RowKind kind, std::vector<double>& logits,
                       std::span<const std::vector<double>> auxiliary, std::span<const double> got,
                       TensorTally& tally) {
  const TensorTask& task = call.task;
  const auto judged = [&](const CountedWeights& counted) {
    return judge_values(task.op, call.contract, logits, task.theta, got, auxiliary, task.attributes, counted);
  };
  if (kind == RowKind::ignored) {
    tally.add(row, {{ignored_finding(task, got)}, {}});
  } else if (kind == RowKind::nan) {
    tally.add(row, nan_verdicts(call.tensors, got));
  } else if (kind == RowKind::nan_items) {
    const ValueFinding due = nan_items_finding(logits, got);
    // The ABI allows the row's other values to be NaN, too.
    for (std::size_t i = 0; i < got.size(); ++i) logits[i] = std::isnan(got[i]) ? numerics::nan : logits[i];
    RowVerdicts verdicts = judged({});
    verdicts.findings.push_back(due);
    tally.add(row, std::move(verdicts));
  } else if (call.counted.divides_by_nothing) {
    tally.skip("a row of a call whose divisor is 0, of which the ABI promises nothing");
  } else if (kind == RowKind::unasked) {
    tally.skip(has_parts(task.op)
                   ? "a row with an infinity, or with a NaN in a vector, of which the ABI promises nothing"
                   : "a row with an infinity, of which the ABI promises nothing");
  } else if (kind == RowKind::infinite) {
    tally.add(row, limit_verdicts(task, call.contract, logits, got));
  } else if (!is_quick(task, call.contract, kind, row, logits, got, tally)) {
    tally.add(row, judged(call.counted.weights));
  }
}

TensorJudgement judge_rows(const TensorTask& task, const Contract& contract, std::span<const GivenTensor> outputs,
                           const TensorOptions& options) {
  const RowTensors tensors(task);
  tensors.require_outputs(outputs);
  if (has_one_value(task.op)) return judge_one_value(task, contract, outputs[0], tensors, options);
  CountedRows counted;
  if (task.op->of_whole_calls) counted = counted_rows(task.op, tensors.call(contract));
  TensorTally tally(task, contract, wide_format(contract.input), options);
  tally.run([&] {
    const CallAtHand call{task, contract, tensors, counted};
    std::vector<double> logits(tensors.columns()), got(tensors.values());
    std::vector<std::vector<double>> auxiliary;
    for (std::size_t row = 0; row < tensors.rows() && tally.goes_on(row); ++row) {
      const RowKind kind = tensors.load(row, logits, auxiliary);
      tensors.load_outputs(outputs, row, got);
      judge_row_at_hand(call, row, kind, logits, auxiliary, got, tally);
    }
  });
  return tally.judgement();
}

// The results for one query.
struct QueryValues {
  std::vector<double> out, scalars;

  AttentionValues values(std::span<const double> columns) const {
    AttentionValues result{columns, std::nullopt, std::nullopt};
    if (!scalars.empty()) result.lse = scalars[0];
    if (scalars.size() > 1) result.entropy = scalars[1];
    return result;
  }
};

// Judges the columns whose visible values include a NaN or an infinity.
void judge_columns(const std::vector<ColumnKind>& columns, std::span<const double> out, RowVerdicts& verdicts) {
  std::optional<ValueFinding> nans, infinities;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c] == ColumnKind::usual) continue;
    const bool nan = columns[c] == ColumnKind::nan, holds = nan ? std::isnan(out[c]) : !std::isfinite(out[c]);
    std::optional<ValueFinding>& found = nan ? nans : infinities;
    if (found && (holds || found->decision == Decision::violated)) continue;
    found = identity_finding(nan ? "kernel.nan_row" : "kernel.infinite_row", holds, out[c], c,
                             nan ? "a NaN is visible in this column of v, so that NaN is due"
                                 : "an infinity is visible in this column of v, so that no finite number is due");
  }
  for (const auto& found : {nans, infinities}) {
    if (found) verdicts.findings.push_back(*found);
  }
}

RowVerdicts judge_usual_query(const AttentionTask& task, AttentionTensors& tensors, const QueryValues& got) {
  if (tensors.columns().empty()) return judge_attention(task, tensors.row(), got.values(got.out));
  std::vector<std::size_t> left;
  const AttentionRow row = tensors.usual_row(left);
  std::vector<double> out;
  for (const std::size_t c : left) out.push_back(got.out[c]);
  RowVerdicts verdicts = judge_attention(task, row, got.values(out));
  for (ValueFinding& finding : verdicts.findings) {
    if (finding.item) finding.item = left[*finding.item];
    if (finding.claim.ends_with(".output") && finding.errors.values > 0) {
      finding.errors.worst_element = left[finding.errors.worst_element];
    }
  }
  judge_columns(tensors.columns(), got.out, verdicts);
  return verdicts;
}

void judge_query(const AttentionTask& task, AttentionTensors& tensors, std::size_t row, QueryKind kind,
                 const QueryValues& got, TensorTally& tally) {
  const bool uniform = task.contract.masked == numerics::MaskedRows::uniform;
  if (kind == QueryKind::unasked || (kind == QueryKind::nothing && uniform && !tensors.values_finite())) {
    return tally.skip("a query that sees no key, and a NaN or an infinity in it or in what it does not see");
  }
  if (kind == QueryKind::infinite) {
    return tally.skip("an infinity in a query or in a key that it sees, of which the ABI promises nothing");
  }
  if (kind == QueryKind::nan) {
    std::vector<double> all = got.out;
    all.insert(all.end(), got.scalars.begin(), got.scalars.end());
    return tally.add(row, {{nan_finding(all, got.out.size(), nan_is_due)}, {}});
  }
  tally.add(row, judge_usual_query(task, tensors, got));
}

TensorJudgement judge_queries(const TensorTask& task, const Contract& contract, std::span<const GivenTensor> outputs,
                              const TensorOptions& options) {
  AttentionTensors tensors(task);
  tensors.require_outputs(outputs);
  AttentionTask by{task.op, contract, output_format(task.op, contract.input)};
  if (outputs.size() > 1) by.scalars = *outputs[1].format;
  TensorTally tally(task, contract, by.scalars, options);
  QueryValues got;
  got.out.resize(tensors.value_size());
  got.scalars.resize(outputs.size() - 1);
  tally.run([&] {
    for (std::size_t row = 0; row < tensors.rows() && tally.goes_on(row); ++row) {
      const QueryKind kind = tensors.load(row);
      tensors.load_output(outputs[0], 0, row, got.out);
      for (std::size_t k = 1; k < outputs.size(); ++k) {
        tensors.load_output(outputs[k], k, row, std::span(got.scalars).subspan(k - 1, 1));
      }
      judge_query(by, tensors, row, kind, got, tally);
    }
  });
  return tally.judgement();
}

}  // namespace

TensorJudgement judge_tensors(const TensorTask& task, const Contract& contract, std::span<const GivenTensor> outputs,
                              const TensorOptions& options) {
  const numerics::FpEnvironmentGuard environment;
  require_task(task);
  require_formats(task, contract, outputs);
  if (!task.op->is_attention()) return judge_rows(task, contract, outputs, options);
  if (task.op->is_linear()) return judge_linear(task, contract, outputs, options);
  return is_attention_gradient(task.op) ? judge_gradients(task, contract, outputs, options)
                                        : judge_queries(task, contract, outputs, options);
}

using namespace numerics;

std::optional<QuickRow> quick_softmax(const Contract& contract, std::span<const double> logits, double theta,
                                      std::span<const double> got) {
  if (properties(contract.output).precision > 24) return std::nullopt;
  const FilterStatistics filter = filter_row(logits, theta);
  const Statistics statistics = statistics_of(filter, contract, logits, theta);
  const auto threshold = softmax_error(contract, statistics);
  const auto plain = softmax_error(contract, statistics, Grants::none);
  if (!is_promise(threshold) || !is_promise(plain) || !is_resolved(contract, statistics)) {
    return std::nullopt;
  }
  const ErrorQuestion question{tolerance_of(contract, threshold), contract.output, upper(plain.constant),
                               upper(plain.slope)};
  const ProvedErrors errors = filter_errors(logits, filter, got, question);
  if (!errors.proved) return std::nullopt;
  QuickRow row;
  row.element_share = errors.largest_share;
  row.errors = {errors.values, errors.worst_ulps, errors.total_ulps, errors.worst_allowed, errors.worst_item};
  row.vacuity.judged = errors.normal;
  row.vacuity.vacuous = errors.vacuous;
  row.vacuity.add_row(false);
  const double allowed = granted_sum(contract, statistics, logits, got);
  if (!std::isfinite(allowed)) return row;
  const Approximation sum = certified_sum(got);
  const double distance = std::fabs(sum.value - 1);
  // Three roundings of 2^-53 each.
  if (!((distance + sum.error) * (1 + 0x1p-50) <= allowed)) return std::nullopt;
  row.sum_share = allowed > 0 ? distance / allowed : 0;
  return row;
}

}  // namespace softcheck::proptests

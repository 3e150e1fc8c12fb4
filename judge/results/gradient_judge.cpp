#include "judge/results/gradient_judge.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/results/gradient_tensors.hpp"
#include "judge/results/tensor_tally.hpp"

namespace softcheck::proptests {
namespace {

AttentionTask gradient_task(const TensorTask& task, const numerics::Contract& contract) {
  return {task.op, contract, wide_format(contract.input)};
}

// Calls each() for every key head of every batch, until it returns false.
template <class Each>
void over_groups(GradientTensors& tensors, Each&& each) {
  for (std::size_t b = 0; b < tensors.batches(); ++b) {
    for (std::size_t kv = 0; kv < tensors.key_heads(); ++kv) {
      tensors.load(b, kv);
      if (!each()) return;
    }
  }
}

// Row `row` of `rows` rows.
std::span<const double> row_of_values(std::span<const double> values, std::size_t row, std::size_t rows) {
  return values.subspan(row * (values.size() / rows), values.size() / rows);
}

// Results that a NaN reaches must be NaN; for those that an infinity reaches, nothing is promised.
void judge_special_queries(const GradientTensors& tensors, std::span<const double> dq, TensorTally& tally) {
  for (std::size_t q = 0; q < tensors.queries(); ++q) {
    const QueryKind kind = tensors.kind(q);
    if (kind == QueryKind::nan) {
      const std::span<const double> got = row_of_values(dq, q, tensors.queries());
      tally.add(tensors.row_of_query(q),
                {{nan_finding(got, got.size(),
                              "a NaN is in the query, its gradient, or a key or value that it sees, so "
                              "that NaN is due in dq")},
                 {}});
    } else if (kind == QueryKind::infinite || kind == QueryKind::unasked) {
      tally.skip(
          "a query that meets an infinity, or that sees no key and holds no number, of which the ABI promises "
          "nothing");
    }
  }
}

void judge_special_keys(const GradientTensors& tensors, std::span<const double> dk, std::span<const double> dv,
                        TensorTally& tally) {
  for (std::size_t j = 0; j < tensors.keys(); ++j) {
    const NanOfKey of = tensors.nan_of_key(j);
    if (!of.reached) continue;
    if (!of.keys) {
      tally.skip("a key that such a query sees");
      continue;
    }
    const std::span<const double> keys = row_of_values(dk, j, tensors.keys());
    const std::span<const double> values = row_of_values(dv, j, tensors.keys());
    RowVerdicts verdicts;
    verdicts.findings.push_back(
        nan_finding(keys, keys.size(), "a NaN is in a query that sees the key, so that NaN is due in dk"));
    for (std::size_t c = 0; c < values.size(); ++c) {
      if (!of.columns[c] || std::isnan(values[c])) continue;
      verdicts.findings.push_back(identity_finding("kernel.nan_row", false, values[c], c,
                                                   "a NaN is in a query that sees the key, so that NaN is due in dv"));
      break;
    }
    tally.add(tensors.row_of_key(j), std::move(verdicts));
  }
}

}  // namespace

TensorJudgement judge_gradients(const TensorTask& task, const numerics::Contract& contract,
                                std::span<const GivenTensor> outputs, const TensorOptions& options) {
  GradientTensors tensors(task);
  tensors.require_outputs(outputs);
  const AttentionTask by = gradient_task(task, contract);
  TensorTally tally(task, contract, by.scalars, options);
  std::size_t done = 0;
  bool goes_on = true;
  const auto judge_group = [&] {
    const std::vector<double> dq = tensors.load_output(outputs[0], 0), dk = tensors.load_output(outputs[1], 1),
                              dv = tensors.load_output(outputs[2], 2);
    judge_attention_gradient(
        by, tensors.group(), {dq, dk, dv},
        [&](std::size_t q, RowVerdicts verdicts) { tally.add(tensors.row_of_query(q), std::move(verdicts)); },
        [&](std::size_t j, RowVerdicts verdicts) { tally.add(tensors.row_of_key(j), std::move(verdicts)); });
    judge_special_queries(tensors, dq, tally);
    judge_special_keys(tensors, dk, dv, tally);
    done += tensors.queries() + tensors.keys();
    goes_on = done == rows_of_task(task) || tally.goes_on(done);
    return goes_on;
  };
  tally.run([&] {
    over_groups(tensors, judge_group);
    if (goes_on) judge_gradient_sums(task, by, outputs, tally);
  });
  return tally.judgement();
}

void reference_of_gradient(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                           std::span<double> lower, std::span<double> upper) {
  if (is_gradient_sum(task, which)) return reference_of_sum(task, gradient_task(task, contract), which, lower, upper);
  GradientTensors tensors(task);
  over_groups(tensors, [&] {
    const GradientGroup group = tensors.group();
    const std::size_t first = tensors.first_value(which), count = tensors.values(which);
    exact_attention_gradient(gradient_task(task, contract), group, static_cast<GradientPart>(which),
                             lower.subspan(first, count), upper.subspan(first, count));
    return true;
  });
}

void thresholds_of_gradient(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                            std::span<double> allowed) {
  if (is_gradient_sum(task, which)) return thresholds_of_sum(task, gradient_task(task, contract), which, allowed);
  GradientTensors tensors(task);
  over_groups(tensors, [&] {
    const GradientGroup group = tensors.group();
    granted_attention_gradient(gradient_task(task, contract), group, static_cast<GradientPart>(which),
                               allowed.subspan(tensors.first_value(which), tensors.values(which)));
    return true;
  });
}

}  // namespace softcheck::proptests

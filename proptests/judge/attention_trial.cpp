#include "proptests/judge/attention_trial.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "proptests/judge/attention_call.hpp"
#include "proptests/judge/attention_rows.hpp"

namespace softcheck::proptests {
namespace {

std::string kind_of(const AttentionCase& a) {
  std::string kind = a.outputs == 1 ? "for out" : a.outputs == 2 ? "for out and lse" : "for out, lse and entropy";
  if (a.shape.queries == 0 || a.shape.keys == 0 || a.shape.batch == 0) return kind + " of nothing";
  if (!a.mask.empty()) kind += ", with a mask";
  if (a.causal) kind += ", causal";
  if (a.shape.group > 1) kind += ", with grouped heads";
  if (a.layout != 0) kind += ", with strides";
  return kind;
}

}  // namespace

AttentionTrial::AttentionTrial(const KernelSubject& subject, const KernelLimits& limits)
    : required_(subject.required), kernel_(subject.source, limits, subject.exempt) {
  task_.op = subject.op;
  task_.contract = subject.contract;
  task_.contract.output = subject.contract.input;
  task_.scalars = subject.contract.output;
}

auto AttentionTrial::call(const AttentionCase& attention, const TensorCall& tensors, const std::string& remark,
                          Certificates& certificates) -> Outputs {
  return kernel_.call(
      tensors, kind_of(attention), [&] { return asked_of(attention, remark); }, certificates);
}

auto AttentionTrial::call(const AttentionCase& attention, const std::string& remark, Certificates& certificates)
    -> Outputs {
  return call(attention, attention_call(attention, task_.scalars), remark, certificates);
}

void AttentionTrial::judge(const AttentionCase& attention, const Outputs& got, const std::string& remark,
                           Certificates& certificates, const Rows& chosen) {
  if (got.empty()) return;
  WorstFindings worst;
  each_row(attention.shape, [&](std::size_t b, std::size_t h, std::size_t i) {
    if (chosen && !chosen(b, h, i)) return;
    const std::size_t row = row_number(attention.shape, b, h, i);
    RowVerdicts verdicts = judge_attention(task_, row_of(attention, b, h, i), values_of(attention, got, row));
    vacuity_ += verdicts.vacuity;
    ++judged_rows_;
    for (ValueFinding& finding : verdicts.findings) {
      tally_.add(finding, [&] { return asked_of(attention, remark, row).text(); });
      worst.add(std::move(finding), row);
    }
  });
  const numerics::PrecisionScope precision(113);
  for (const auto& [claim, of] : worst.by_claim()) {
    const bool is_output = claim.ends_with(".output");
    certificates.push_back(certificate_of(of.finding, asked_of(attention, remark, of.row),
                                          is_output ? task_.contract.output : task_.scalars));
  }
}

void AttentionTrial::call_and_judge(const AttentionCase& attention, const std::string& remark,
                                    Certificates& certificates) {
  judge(attention, call(attention, remark, certificates), remark, certificates);
}

std::size_t AttentionTrial::numbers_in(const AttentionCase& attention, const Outputs& got, const Rows& chosen,
                                       std::optional<std::size_t> column) {
  std::size_t numbers = 0;
  each_row(attention.shape, [&](std::size_t b, std::size_t h, std::size_t i) {
    if (!chosen(b, h, i)) return;
    const AttentionValues values = values_of(attention, got, row_number(attention.shape, b, h, i));
    if (column) {
      numbers += std::isnan(values.out[*column]) ? 0 : 1;
      return;
    }
    numbers += static_cast<std::size_t>(std::ranges::count_if(values.out, [](double x) { return !std::isnan(x); }));
    if (values.lse) numbers += std::isnan(*values.lse) ? 0 : 1;
    if (values.entropy) numbers += std::isnan(*values.entropy) ? 0 : 1;
  });
  return numbers;
}

void AttentionTrial::compare_alone(const AttentionCase& attention, const Outputs& got, std::size_t b, std::size_t h,
                                   Certificates& certificates) {
  const AttentionShape& s = attention.shape;
  const std::size_t last = row_number(s, b, h, s.queries - 1);
  const AttentionRow row = row_of(attention, b, h, s.queries - 1);
  AttentionCase alone = attention;
  alone.shape.batch = alone.shape.kv_heads = alone.shape.group = alone.shape.queries = 1;
  alone.layout = 0;
  alone.queries.assign(row.query.begin(), row.query.end());
  alone.keys.assign(row.keys.begin(), row.keys.end());
  alone.values.assign(row.values.begin(), row.values.end());
  // The last query is aligned with the last key: causality hides nothing from it.
  if (!attention.mask.empty()) alone.mask = row.visible;
  const Outputs single = call(alone, " (one query alone)", certificates);
  if (single.empty()) return;
  std::vector<double> among, by_itself;
  for (std::size_t k = 0; k < single.size(); ++k) {
    const std::size_t size = k == 0 ? s.value_dim : 1;
    const auto first = got[k].begin() + static_cast<std::ptrdiff_t>(last * size);
    among.insert(among.end(), first, first + static_cast<std::ptrdiff_t>(size));
    by_itself.insert(by_itself.end(), single[k].begin(), single[k].end());
  }
  if (!same_bits(among, by_itself)) judge(alone, single, " (one query alone)", certificates);
  kernel_.compare(among, by_itself, required_.batch_invariant, "kernel.batch_invariant",
                  "a query's bits depend on its layout or its neighbours", asked_of(attention, "", last), certificates);
}

}  // namespace softcheck::proptests

#include "judge/inference/contract_probes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "judge/call/attention_call.hpp"
#include "judge/inference/embedded_probes.hpp"
#include "judge/inference/gradient_probes.hpp"
#include "judge/ops/attention/attention_op.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/ops/rows/call_judge.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/trial/contract_forms.hpp"
#include "numerics/enclosures/ulp.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

using numerics::Format;

void ProbeSet::add(Probe probe) { probes_.push_back(std::move(probe)); }

ProbeShare ProbeSet::against(const numerics::Contract& contract) { return compared(probes_.size(), contract); }

ProbeShare ProbeSet::last_against(const numerics::Contract& contract) {
  return compared(std::min<std::size_t>(probes_.size(), 1), contract);
}

// Compares the first `count` results.
ProbeShare ProbeSet::compared(std::size_t count, const numerics::Contract& contract) {
  const numerics::PrecisionScope precision(113);
  ProbeShare result;
  for (std::size_t i = 0; i < count; ++i) {
    const RowVerdicts verdicts = probes_[i].judge(contract);
    if (verdicts.vacuity.unbounded > 0 && !keeps_own(i)) {
      result = {false, std::numeric_limits<double>::infinity(), probes_[i].text + " (its thresholds are infinite)"};
      std::swap(probes_[0], probes_[i]);
      return result;
    }
    for (const ValueFinding& finding : verdicts.findings) {
      const bool broken = finding.decision != numerics::Decision::proved;
      const double share = finding.share();
      if (!broken && !(share >= result.share)) continue;
      result = {!broken, share, certificate_of(finding, CallDescription{probes_[i].text}, contract.output).witness};
      if (!broken) continue;
      std::swap(probes_[0], probes_[i]);
      return result;
    }
  }
  return result;
}

bool ProbeSet::keeps_own(std::size_t i) {
  Probe& probe = probes_[i];
  if (!own_) return true;
  if (!probe.keeps_own) {
    probe.keeps_own = std::ranges::all_of(probe.judge(*own_).findings, [](const ValueFinding& finding) {
      return finding.decision == numerics::Decision::proved;
    });
  }
  return *probe.keeps_own;
}

double ProbeSet::threshold(const numerics::Contract& contract) const {
  if (probes_.empty()) return 0;
  const RowVerdicts verdicts = std::ranges::max_element(probes_, {}, &Probe::size)->judge(contract);
  return verdicts.findings.empty() ? std::numeric_limits<double>::infinity() : verdicts.findings[0].threshold;
}

Prober::Prober(const KernelSource& source, Op op, Format input, Format output, const Domain& domain,
               const KernelLimits& limits)
    : kernel_(source, limits),
      op_(op),
      input_(input),
      output_(output),
      domain_(op->is_attention() ? op.attention_op().narrowed(domain) : domain) {}

std::vector<std::vector<double>> Prober::call(const TensorCall& tensors) {
  if (died_) return {};
  TensorReply reply = kernel_.call(tensors);
  refused_ += reply.end == CallEnd::refused ? 1 : 0;
  died_ = reply.end != CallEnd::done && reply.end != CallEnd::refused && reply.end != CallEnd::not_made;
  return reply.end == CallEnd::done ? std::move(reply.outputs) : std::vector<std::vector<double>>{};
}

std::vector<std::vector<double>> Prober::call(const RowMatrixCase& matrix) {
  if (!domain_.admits(traits_of(matrix, op_))) return {};
  return call(call_of(matrix, op_, {input_, output_},
                      {std::nullopt, static_cast<std::size_t>(domain_.alignment), domain_.hides_finite_numbers()}));
}

namespace {

Probe probe_of(Op op, std::string text, std::vector<std::vector<double>> inputs, double theta,
               const Attributes& attributes, std::vector<double> got) {
  const std::size_t size = inputs[0].size();
  const auto judge = [op, theta, attributes, inputs = std::move(inputs), got = std::move(got)](const auto& contract) {
    return judge_values(op, contract, inputs[0], theta, got, std::span(inputs).subspan(1), attributes);
  };
  return {std::move(text), size, judge};
}

// The probe of a whole call, for ops that read all of its rows.
Probe probe_of_call(Op op, RowMatrixCase matrix, std::vector<double> got) {
  const std::size_t size = matrix.columns;
  std::string text = to_text(matrix);
  const auto judge = [op, matrix = std::move(matrix), got = std::move(got)](const numerics::Contract& contract) {
    const CallOfRows call = rows_of_call(matrix, op, contract);
    if (has_one_value(op)) return judge_call(op, call, got.at(0));
    const CountedRows counted = counted_rows(op, call);
    RowVerdicts all;
    std::size_t r = 0;
    call.each([&](const RowInputs& row) {
      const std::span<const double> values = std::span(got).subspan(r++ * matrix.columns, matrix.columns);
      if (counted.divides_by_nothing) return;
      RowVerdicts verdicts =
          judge_values(op, contract, row.logits, row.theta, values, row.auxiliary, row.attributes, counted.weights);
      all.vacuity += verdicts.vacuity;
      for (ValueFinding& finding : verdicts.findings) all.findings.push_back(std::move(finding));
    });
    return all;
  };
  return {std::move(text), size, judge};
}

Probe probe_of(Op op, std::shared_ptr<const AttentionCase> attention,
               std::shared_ptr<const std::vector<std::vector<double>>> got, std::size_t row) {
  const AttentionShape& s = attention->shape;
  const std::size_t i = row % s.queries, h = row / s.queries % s.heads(), b = row / s.queries / s.heads();
  return {describe_call(*attention, "", row).text(), s.keys,
          [op, attention, got, row, b, h, i](const numerics::Contract& contract) {
            AttentionTask task{op, contract, contract.output};
            task.contract.output = contract.input;
            return judge_attention(task, row_of(*attention, b, h, i), values_of(*attention, *got, row));
          }};
}

}  // namespace

void Prober::ask(const AttentionCase& attention, ProbeSet& probes,
                 const std::function<bool(const AttentionRow&)>& shown) {
  const auto asked = std::make_shared<AttentionCase>(op_.attention_op().completed(attention));
  asked->attributes.no_ignored |= op_->is_linear();  // an ignored row's results are 0 by any arithmetic
  if (!asked->sequences.any()) hold_alike_sequences(*asked, domain_);
  if (domain_.cache) take_conventions(*asked, domain_);  // rounds keys and values
  if (!lies_in(domain_, *asked, traits_of(*asked))) return;
  const AttentionOp& op = op_.attention_op();
  AttentionTask task{op_, numerics::default_contract(input_, input_), output_};
  TensorCall tensors = op.call(task, *asked);
  std::vector<std::vector<double>> outputs = call(tensors);
  while (outputs.empty() && !died_ && asked->outputs > 1 && !op_->all_outputs) {
    --asked->outputs;
    tensors.outputs.pop_back();
    outputs = call(tensors);
  }
  if (outputs.empty()) return;
  restore_heads(*asked, tensors, outputs);
  const auto got = std::make_shared<const std::vector<std::vector<double>>>(op.dense(*asked, std::move(outputs)));
  if (is_gradient(op_) || op_->is_linear()) {
    for (Probe& probe : gradient_probes(op_, output_, *asked, *got)) probes.add(std::move(probe));
    return;
  }
  each_row(asked->shape, [&](std::size_t b, std::size_t h, std::size_t i) {
    if (i >= asked->queries_of(b) || (shown && !shown(row_of(*asked, b, h, i)))) return;
    probes.add(probe_of(op_, asked, got, row_number(asked->shape, b, h, i)));
  });
}

// Passes the rows as one call of attention. Additional heads and queries that the domain requires repeat the first one,
// which gives the result.
void Prober::ask_attention(const std::vector<std::vector<double>>& rows, ProbeSet& probes) {
  const std::optional<AttentionCase> attention =
      attention_of(rows, input_, is_gradient(op_) || op_->is_linear(), domain_);
  if (!attention) return;
  std::size_t seen = 0;
  const std::size_t of_batch = attention->shape.heads() * attention->shape.queries;
  ask(*attention, probes, [&](const AttentionRow&) { return seen++ % of_batch == 0; });
}

void Prober::ask(const std::vector<std::vector<double>>& given, double theta, ProbeSet& probes,
                 std::uint64_t auxiliary) {
  if (theta != 1 && (op_->is_attention() || !(op_->has_theta || domain_.temperature))) return;
  std::vector<std::vector<double>> rows = given;
  // A mean shows a loss best if it has only that one.
  const std::uint64_t wanted = !op_->is_attention() && has_one_value(op_) ? 1 : rows.size();
  const std::uint64_t together = domain_.length(op_->is_attention() ? "batch" : "rows").nearest(wanted);
  if (together == 0) return;
  // Fill the domain's number of rows by repeating the last row.
  while (rows.size() % together != 0) rows.push_back(rows.back());
  if (together < rows.size()) {
    for (std::size_t first = 0; first < rows.size(); first += together) {
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
      ask({begin, begin + static_cast<std::ptrdiff_t>(together)}, theta, probes, auxiliary);
    }
    return;
  }
  const auto bound = [&] {
    if (!domain_.bounds_logits()) return;
    for (std::vector<double>& row : rows) {
      row = bounded(RunLengthRow::of(row), domain_, theta, row_format(op_, input_)).expand();
    }
  };
  bound();
  if (op_->is_attention()) return ask_attention(rows, probes);
  const std::uint64_t size = rows.at(0).size();
  const std::uint64_t length = domain_.length("n").at_least(size).value_or(size);
  for (std::vector<double>& row : rows) {
    if (length > size) row.resize(length, weightless_logit(op_, input_, output_, domain_, row, theta));
  }
  bound();
  const std::optional<MaskUse> mask = mask_of(rows);
  if (!mask) return;
  RowMatrixCase matrix;
  matrix.columns = rows.at(0).size();
  matrix.theta = theta;
  matrix.format = row_format(op_, input_);
  matrix.mask = *mask;
  matrix.auxiliary = auxiliary = auxiliary | op_.rows().set_auxiliaries(domain_);
  std::vector<RunLengthRow> runs;
  for (const std::vector<double>& row : rows) runs.push_back(RunLengthRow::of(row));
  matrix.rows = RowCycle(std::move(runs));
  const std::vector<std::vector<double>> outputs = call(matrix);
  if (outputs.empty()) return;
  const std::vector<double> got = by_row(outputs, rows.size());
  if (op_->of_whole_calls) return probes.add(probe_of_call(op_, std::move(matrix), got));
  const std::size_t results = got.size() / rows.size();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto begin = got.begin() + static_cast<std::ptrdiff_t>(r * results);
    const RowCase row_case{matrix.rows[r], theta, matrix.format, "", auxiliary_of_row(auxiliary, r)};
    probes.add(probe_of(op_, to_text(row_case), inputs_of(matrix, op_, input_, r), theta,
                        op_.rows().attributes(auxiliary, matrix.columns),
                        {begin, begin + static_cast<std::ptrdiff_t>(results)}));
  }
}

// How a call hides the items of -inf: as infinities, or by a mask if the call's numbers must be finite; nothing if the
// domain allows neither.
std::optional<MaskUse> Prober::mask_of(const std::vector<std::vector<double>>& rows) const {
  const auto hides = [](const std::vector<double>& row) {
    return std::ranges::find(row, -std::numeric_limits<double>::infinity()) != row.end();
  };
  const bool has_infinity = numerics::properties(row_format(op_, input_)).has_infinity;
  if (std::ranges::none_of(rows, hides) || (has_infinity && op_->takes_infinities && domain_.hides_by_infinity())) {
    return MaskUse::none;
  }
  return op_->takes_mask && !domain_.no_mask ? std::optional(MaskUse::tensor) : std::nullopt;
}

void Prober::ask_masked(bool by_mask, ProbeSet& probes) {
  if (op_->is_attention()) return ask_blind_queries(by_mask, probes);
  const bool has_infinity = numerics::properties(row_format(op_, input_)).has_infinity;
  if (by_mask ? !op_->takes_mask : !(op_->takes_infinities && has_infinity)) return;
  const std::vector<double> nothing(domain_.length("n").nearest(3), -std::numeric_limits<double>::infinity());
  RowMatrixCase matrix;
  matrix.columns = nothing.size();
  matrix.format = row_format(op_, input_);
  matrix.rows = RowCycle({RunLengthRow::of(nothing)}, domain_.length("rows").at_least(1).value_or(1));
  matrix.mask = by_mask ? MaskUse::tensor : MaskUse::none;
  matrix.auxiliary = op_.rows().set_auxiliaries(domain_);
  const std::vector<std::vector<double>> outputs = call(matrix);
  if (outputs.empty()) return;
  const std::string text = std::to_string(nothing.size()) + (by_mask ? " logits behind the mask" : " logits of -inf");
  const std::vector<double> got = by_row(outputs, matrix.rows.size());
  const auto results = static_cast<std::ptrdiff_t>(got.size() / matrix.rows.size());
  probes.add(probe_of(op_, text, inputs_of(matrix, op_, input_, 0), 1,
                      op_.rows().attributes(matrix.auxiliary, matrix.columns), {got.begin(), got.begin() + results}));
}

// Calls with queries that see no key: by a mask, by causality, or without keys.
void Prober::ask_blind_queries(bool by_mask, ProbeSet& probes) {
  if (!op_->answers.masked_rows) return;
  const auto is_blind = [](const AttentionRow& row) { return std::ranges::find(row.visible, 1) == row.visible.end(); };
  const std::size_t batches = domain_.length("batch").at_least(1).value_or(1);
  std::optional<AttentionCase> attention =
      attention_of(std::vector<std::vector<double>>(batches, {0, 0, 0}), input_, false, domain_);
  if (attention && by_mask) {
    attention->mask.assign(attention->shape.scores(), 0);
    ask(*attention, probes, is_blind);
  }
  if (by_mask) return;
  if (attention && domain_.no_mask) {
    attention->shape.keys = 0;
    attention->keys.clear();
    attention->values.clear();
    ask(*attention, probes, is_blind);
  }
  if (const auto causal = causal_without_keys(input_, domain_)) ask(*causal, probes, is_blind);
}

void ask_scores(Prober& prober, Format input, ProbeSet& probes) {
  std::mt19937_64 engine(20241001);
  std::normal_distribution<double> normal;
  const auto fill = [&](std::vector<double>& numbers, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) numbers.push_back(numerics::round_to(input, normal(engine)));
  };
  for (const std::size_t keys : {1, 2, 3, 9, 40}) {
    for (const double scale : {0.3, 1.0, 0.7, 0.25}) {  // the last one is 1 / sqrt(dim)
      AttentionCase attention;
      attention.format = input;
      const bool linear = prober.op()->is_linear(), gradient = linear || is_gradient(prober.op());
      const std::size_t heads = linear ? 1 : 4, columns = heads;
      attention.outputs = gradient ? 1 : 3;
      attention.scale = linear ? 1 : scale;
      attention.shape = {
          .batch = 1, .kv_heads = heads, .group = 1, .queries = 4, .keys = keys, .dim = 16, .value_dim = columns};
      fill(attention.queries, heads * 4 * 16);
      fill(attention.keys, heads * keys * 16);
      fill(attention.values, heads * keys * columns);
      if (gradient) fill(attention.gradients, heads * 4 * columns);
      prober.ask(attention, probes);
    }
  }
}

void ask_pairs(Prober& prober, Format input, double least, double most, std::size_t count,
               std::span<const double> shifts, ProbeSet& probes) {
  // The powers of two and their sums are numbers of every accumulator; 0.1 of none.
  constexpr double temperatures[] = {1, 0.75, 0.1, 3};
  const double golden = (std::sqrt(5.0) - 1) / 2;  // its multiples fill an interval evenly
  for (const double theta : temperatures) {
    std::vector<std::vector<double>> rows;
    const std::size_t of_theta = theta == 1 ? count : count / 4;
    for (std::size_t i = 0; i < of_theta; ++i) {
      const double place = std::fmod(static_cast<double>(i + 1) * golden, 1);
      const double shift = within_format(input, shifts[i % shifts.size()]);
      const double other = within_format(input, shift - (least + place * (most - least)) * theta);
      rows.push_back(i % 2 == 0 ? std::vector{shift, other} : std::vector{other, shift});
    }
    prober.ask(rows, theta, probes);
  }
}

void ask_equal_rows(Prober& prober, Format input, ProbeSet& probes) {
  for (const std::size_t n : {2, 4, 8}) {
    std::vector<std::vector<double>> rows;
    for (const double logit : {0.0, 1.0, -0.75}) rows.emplace_back(n, within_format(input, logit));
    prober.ask(rows, 1, probes);
  }
}

void ask_half_ulps(Prober& prober, Format input, Format accumulator, std::uint64_t n, ProbeSet& probes) {
  const int precision = numerics::properties(accumulator).precision;
  double depth =
      std::fmin(numerics::round_to(input, precision * std::log(2.0) - 0x1p-13), numerics::properties(input).largest);
  // The weights must stay above half a last place after rounding to the input's format.
  while (!(depth < precision * std::log(2.0))) depth = numerics::round_to(input, depth - numerics::ulp(input, depth));
  std::vector<double> row(n, -depth);
  row.front() = 0;
  const std::uint64_t auxiliary = prober.op()->answers.auxiliary_of_sums;
  prober.ask({row}, 1, probes, auxiliary);
  std::ranges::reverse(row);
  prober.ask({row}, 1, probes, auxiliary);
}

}  // namespace softcheck::proptests

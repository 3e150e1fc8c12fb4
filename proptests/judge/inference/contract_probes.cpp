#include "proptests/judge/inference/contract_probes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <utility>

#include "numerics/enclosures/ulp.hpp"
#include "proptests/generators/rows/row.hpp"
#include "proptests/judge/attention/attention_judge.hpp"
#include "proptests/judge/attention/attention_rows.hpp"
#include "proptests/judge/calls/row_call.hpp"
#include "proptests/judge/inference/gradient_probes.hpp"
#include "proptests/judge/ops/attention_op.hpp"
#include "proptests/judge/ops/row_op.hpp"
#include "proptests/judge/verdict/call_judge.hpp"

namespace softcheck::proptests {

using numerics::Format;

void ProbeSet::add(Probe probe) { probes_.push_back(std::move(probe)); }

ProbeShare ProbeSet::against(const numerics::Contract& contract) { return compared(probes_.size(), contract); }

ProbeShare ProbeSet::last_against(const numerics::Contract& contract) {
  return compared(std::min<std::size_t>(probes_.size(), 1), contract);
}

// The first count of them.
ProbeShare ProbeSet::compared(std::size_t count, const numerics::Contract& contract) {
  const numerics::PrecisionScope precision(113);
  ProbeShare result;
  for (std::size_t i = 0; i < count; ++i) {
    const RowVerdicts verdicts = probes_[i].judge(contract);
    for (const ValueFinding& finding : verdicts.findings) {
      const bool broken = finding.decision != numerics::Decision::proved;
      const double share = finding.share();
      if (!broken && !(share >= result.share)) continue;
      result = {!broken, share, certificate_of(finding, Asked{probes_[i].text}, contract.output).witness};
      if (!broken) continue;
      std::swap(probes_[0], probes_[i]);
      return result;
    }
  }
  return result;
}

double ProbeSet::threshold(const numerics::Contract& contract) const {
  if (probes_.empty()) return 0;
  const RowVerdicts verdicts = std::ranges::max_element(probes_, {}, &Probe::size)->judge(contract);
  return verdicts.findings.empty() ? std::numeric_limits<double>::infinity() : verdicts.findings[0].threshold;
}

bool is_gradient(Op op) {
  return op->attention && std::ranges::find(op->inputs, Role::out_gradient, &OpInput::role) != op->inputs.end();
}

Prober::Prober(const KernelSource& source, Op op, Format input, Format output, const Domain& domain,
               const KernelLimits& limits)
    : kernel_(source, limits), op_(op), input_(input), output_(output), domain_(domain) {}

std::vector<std::vector<double>> Prober::call(const TensorCall& tensors) {
  if (died_) return {};
  TensorReply reply = kernel_.call(tensors);
  died_ = reply.end != CallEnd::done && reply.end != CallEnd::refused && reply.end != CallEnd::not_made;
  return reply.end == CallEnd::done ? std::move(reply.outputs) : std::vector<std::vector<double>>{};
}

std::vector<std::vector<double>> Prober::call(const RowMatrixCase& matrix) {
  if (!domain_.admits(traits_of(matrix, op_))) return {};
  return call(call_of(matrix, op_, {input_, output_},
                      {false, static_cast<std::size_t>(domain_.alignment), domain_.hides_finite_numbers()}));
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

// A call of an op that looks at all of its rows.
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
          judge_values(op, contract, row.logits, row.theta, values, row.beside, row.attributes, counted.weights);
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
  return {asked_of(*attention, "", row).text(), s.keys,
          [op, attention, got, row, b, h, i](const numerics::Contract& contract) {
            AttentionTask task{op, contract, contract.output};
            task.contract.output = contract.input;
            return judge_attention(task, row_of(*attention, b, h, i), values_of(*attention, *got, row));
          }};
}

// Rows as the keys of a query each; of a gradient dv is that by out = (first weight, last weight), times 1 and 0.
AttentionCase attention_of(const std::vector<std::vector<double>>& rows, Format input, bool gradient) {
  AttentionCase attention;
  attention.format = input;
  attention.outputs = gradient ? 1 : 3;
  attention.shape.batch = rows.size();
  attention.shape.keys = rows.at(0).size();
  attention.shape.value_dim = 2;
  attention.queries.assign(rows.size(), 1.0);
  for (const std::vector<double>& row : rows) {
    attention.keys.insert(attention.keys.end(), row.begin(), row.end());
    for (std::size_t j = 0; j < row.size(); ++j) {
      attention.values.push_back(j == 0 ? 1 : 0);
      attention.values.push_back(j + 1 == row.size() ? 1 : 0);
    }
    if (gradient) attention.gradients.insert(attention.gradients.end(), {1.0, 0.0});
  }
  return attention;
}

}  // namespace

void Prober::ask(const AttentionCase& attention, ProbeSet& probes) {
  const auto asked = std::make_shared<AttentionCase>(attention);
  if (!asked->sequences.any()) hold_alike_sequences(*asked, domain_);
  if (!lies_in(domain_, *asked, traits_of(*asked))) return;
  const AttentionOp& op = op_.attention_op();
  AttentionTask task{op_, numerics::default_contract(input_, input_), output_};
  std::vector<std::vector<double>> outputs = call(op.call(task, *asked));
  while (outputs.empty() && !died_ && asked->outputs > 1 && !op_->all_outputs) {
    --asked->outputs;
    outputs = call(op.call(task, *asked));
  }
  if (outputs.empty()) return;
  const auto got = std::make_shared<const std::vector<std::vector<double>>>(op.dense(*asked, std::move(outputs)));
  if (is_gradient(op_)) {
    for (Probe& probe : gradient_probes(op_, output_, *asked, *got)) probes.add(std::move(probe));
    return;
  }
  each_row(asked->shape, [&](std::size_t b, std::size_t h, std::size_t i) {
    if (i < asked->queries_of(b)) probes.add(probe_of(op_, asked, got, row_number(asked->shape, b, h, i)));
  });
}

void Prober::ask(const std::vector<std::vector<double>>& given, double theta, ProbeSet& probes, std::uint64_t beside) {
  std::vector<std::vector<double>> rows = given;
  // Each loss of a mean shows best alone.
  const std::uint64_t wanted = !op_->attention && has_one_value(op_) ? 1 : rows.size();
  const std::uint64_t together = op_->attention ? rows.size() : domain_.length("rows").nearest(wanted);
  if (together == 0) return;
  // As many as the domain has: the last row fills what is missing.
  while (rows.size() % together != 0) rows.push_back(rows.back());
  if (together < rows.size()) {
    for (std::size_t first = 0; first < rows.size(); first += together) {
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
      ask({begin, begin + static_cast<std::ptrdiff_t>(together)}, theta, probes, beside);
    }
    return;
  }
  const std::uint64_t size = rows.at(0).size();
  const std::uint64_t length = op_->attention ? size : domain_.length("n").at_least(size).value_or(size);
  if (length > size) {
    const numerics::FormatProperties& facts = numerics::properties(row_format(op_, input_));
    const double least = facts.has_infinity ? -std::numeric_limits<double>::infinity() : -facts.largest;
    for (std::vector<double>& row : rows) row.resize(length, least);
  }
  if (op_->attention) {
    if (theta == 1) ask(attention_of(rows, input_, is_gradient(op_)), probes);
    return;
  }
  RowMatrixCase matrix;
  matrix.columns = rows.at(0).size();
  matrix.theta = theta;
  matrix.format = row_format(op_, input_);
  matrix.beside = beside = beside | op_.rows().set_besides(domain_);
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
    const RowCase row_case{matrix.rows[r], theta, matrix.format, "", beside_of_row(beside, r)};
    probes.add(probe_of(op_, to_text(row_case), inputs_of(matrix, op_, input_, r), theta,
                        op_.rows().attributes(beside, matrix.columns),
                        {begin, begin + static_cast<std::ptrdiff_t>(results)}));
  }
}

void Prober::ask_masked(bool by_mask, ProbeSet& probes) {
  const bool has_infinity = numerics::properties(row_format(op_, input_)).has_infinity;
  if (by_mask ? !op_->takes_mask : !(op_->takes_infinities && has_infinity)) return;
  if (op_->attention) {
    if (!op_->answers.masked_rows) return;
    AttentionCase attention = attention_of({{0, 0, 0}}, input_, false);
    if (by_mask) {
      attention.mask = {0, 0, 0};
    } else if (domain_.no_mask) {  // of a kernel without masks a query of no keys says it
      attention.shape.keys = 0;
      attention.keys.clear();
      attention.values.clear();
    } else {
      return;
    }
    ask(attention, probes);
    return;
  }
  const std::vector<double> nothing(domain_.length("n").nearest(3), -std::numeric_limits<double>::infinity());
  RowMatrixCase matrix;
  matrix.columns = nothing.size();
  matrix.format = row_format(op_, input_);
  matrix.rows = RowCycle({RunLengthRow::of(nothing)}, domain_.length("rows").at_least(1).value_or(1));
  matrix.mask = by_mask ? MaskUse::tensor : MaskUse::none;
  matrix.beside = op_.rows().set_besides(domain_);
  const std::vector<std::vector<double>> outputs = call(matrix);
  if (outputs.empty()) return;
  const std::string text = std::to_string(nothing.size()) + (by_mask ? " logits behind the mask" : " logits of -inf");
  const std::vector<double> got = by_row(outputs, matrix.rows.size());
  const auto results = static_cast<std::ptrdiff_t>(got.size() / matrix.rows.size());
  probes.add(probe_of(op_, text, inputs_of(matrix, op_, input_, 0), 1,
                      op_.rows().attributes(matrix.beside, matrix.columns), {got.begin(), got.begin() + results}));
}

void ask_scores(Prober& prober, Format input, ProbeSet& probes) {
  std::mt19937_64 engine(20241001);
  std::normal_distribution<double> normal;
  const auto fill = [&](std::vector<double>& numbers, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) numbers.push_back(numerics::round_to(input, normal(engine)));
  };
  for (const std::size_t keys : {1, 2, 3, 9, 40}) {
    for (const double scale : {0.3, 1.0, 0.7, 0.25}) {  // the last as 1 / sqrt(dim) has it
      AttentionCase attention;
      attention.format = input;
      const bool gradient = is_gradient(prober.op());
      attention.outputs = gradient ? 1 : 3;
      attention.scale = scale;
      attention.shape = {.batch = 1, .kv_heads = 4, .group = 1, .queries = 4, .keys = keys, .dim = 16, .value_dim = 4};
      fill(attention.queries, 4 * 4 * 16);
      fill(attention.keys, 4 * keys * 16);
      fill(attention.values, 4 * keys * 4);
      if (gradient) fill(attention.gradients, 4 * 4 * 4);
      prober.ask(attention, probes);
    }
  }
}

void ask_pairs(Prober& prober, Format input, double least, double most, std::size_t count,
               std::span<const double> shifts, ProbeSet& probes) {
  // Powers of two and sums of them are numbers of every accumulator; 0.1 is of none.
  constexpr double temperatures[] = {1, 0.75, 0.1, 3};
  const double golden = (std::sqrt(5.0) - 1) / 2;  // its multiples fill an interval evenly
  for (const double theta : temperatures) {
    std::vector<std::vector<double>> rows;
    const std::size_t of_theta = theta == 1 ? count : count / 4;
    for (std::size_t i = 0; i < of_theta; ++i) {
      const double place = std::fmod(static_cast<double>(i + 1) * golden, 1);
      const double shift = numerics::round_to(input, shifts[i % shifts.size()]);
      const double other = numerics::round_to(input, shift - (least + place * (most - least)) * theta);
      rows.push_back(i % 2 == 0 ? std::vector{shift, other} : std::vector{other, shift});
    }
    prober.ask(rows, theta, probes);
  }
}

void ask_half_ulps(Prober& prober, Format input, Format accumulator, std::uint64_t n, ProbeSet& probes) {
  const int precision = numerics::properties(accumulator).precision;
  double depth = numerics::round_to(input, precision * std::log(2.0) - 0x1p-13);
  // Above half a last place, whatever the input's format makes of it.
  while (!(depth < precision * std::log(2.0))) depth = numerics::round_to(input, depth - numerics::ulp(input, depth));
  std::vector<double> row(n, -depth);
  row.front() = 0;
  const std::uint64_t beside = prober.op()->answers.sums_beside;
  prober.ask({row}, 1, probes, beside);
  std::ranges::reverse(row);
  prober.ask({row}, 1, probes, beside);
}

}  // namespace softcheck::proptests

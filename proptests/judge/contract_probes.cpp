#include "proptests/judge/contract_probes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "numerics/ulp.hpp"
#include "proptests/generators/row.hpp"
#include "proptests/judge/row_call.hpp"
#include "proptests/judge/row_judge.hpp"

namespace softcheck::proptests {

using numerics::Format;

void ProbeSet::add(Probe probe) { probes_.push_back(std::move(probe)); }

ProbeShare ProbeSet::against(Op op, const numerics::Contract& contract) {
  ProbeShare result;
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    const Probe& probe = probes_[i];
    const RowFindings findings = judge_row(op, contract, probe.logits, probe.theta, probe.got, probe.text);
    for (const numerics::Certificate& certificate : findings.certificates) {
      const bool broken = certificate.verdict != numerics::Verdict::proved;
      if (!broken && !(certificate.slack >= result.share)) continue;
      result = {!broken, certificate.slack, certificate.witness};
      if (!broken) continue;
      std::swap(probes_[0], probes_[i]);
      return result;
    }
  }
  return result;
}

double ProbeSet::threshold(Op op, const numerics::Contract& contract) const {
  if (probes_.empty()) return 0;
  const Probe& longest = *std::ranges::max_element(probes_, {}, [](const Probe& probe) { return probe.logits.size(); });
  const RowFindings findings = judge_row(op, contract, longest.logits, longest.theta, longest.got, longest.text);
  return findings.certificates.empty() ? std::numeric_limits<double>::infinity()
                                       : findings.certificates[0].right.upper_double();
}

Prober::Prober(const KernelSource& source, Op op, Format input, Format output, const KernelLimits& limits)
    : kernel_(source, limits), op_(op), input_(input), output_(output) {}

std::vector<double> Prober::call(const RowMatrixCase& matrix) {
  if (died_) return {};
  TensorReply reply = kernel_.call(call_of(matrix, op_, output_));
  died_ = reply.end == CallEnd::crashed || reply.end == CallEnd::timed_out;
  return reply.end == CallEnd::done ? std::move(reply.outputs[0]) : std::vector<double>{};
}

void Prober::ask(const std::vector<std::vector<double>>& rows, double theta, ProbeSet& probes) {
  RowMatrixCase matrix;
  matrix.columns = rows.at(0).size();
  matrix.theta = theta;
  matrix.format = input_;
  std::vector<RunLengthRow> runs;
  for (const std::vector<double>& row : rows) runs.push_back(RunLengthRow::of(row));
  matrix.rows = RowCycle(std::move(runs));
  const std::vector<double> got = call(matrix);
  if (got.empty()) return;
  const std::size_t results = got.size() / rows.size();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto begin = got.begin() + static_cast<std::ptrdiff_t>(r * results);
    const RowCase row_case{matrix.rows[r], theta, input_, ""};
    probes.add({to_text(row_case), rows[r], theta, {begin, begin + static_cast<std::ptrdiff_t>(results)}});
  }
}

void Prober::ask_masked(bool by_mask, ProbeSet& probes) {
  const std::vector<double> nothing(3, -std::numeric_limits<double>::infinity());
  RowMatrixCase matrix;
  matrix.columns = nothing.size();
  matrix.format = input_;
  matrix.rows = {RunLengthRow::of(nothing)};
  matrix.mask = by_mask ? MaskUse::tensor : MaskUse::none;
  const std::vector<double> got = call(matrix);
  if (!got.empty()) probes.add({by_mask ? "3 logits behind the mask" : "3 logits of -inf", nothing, 1, got});
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
  prober.ask({row}, 1, probes);
  std::ranges::reverse(row);
  prober.ask({row}, 1, probes);
}

}  // namespace softcheck::proptests

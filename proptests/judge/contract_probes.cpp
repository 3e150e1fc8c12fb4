#include "proptests/judge/contract_probes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "numerics/ulp.hpp"
#include "proptests/generators/row.hpp"
#include "proptests/judge/kernel_call.hpp"
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

void Prober::ask(const std::vector<std::vector<double>>& rows, double theta, ProbeSet& probes) {
  if (died_ || rows.empty()) return;
  KernelCall call;
  call.op = op_;
  call.input = input_;
  call.output = output_;
  call.rows = static_cast<std::int64_t>(rows.size());
  call.columns = static_cast<std::int64_t>(rows[0].size());
  for (const std::vector<double>& row : rows) call.logits.insert(call.logits.end(), row.begin(), row.end());
  call.theta = theta;
  const TensorReply reply = kernel_.call(lowered(call));
  died_ = reply.end == CallEnd::crashed || reply.end == CallEnd::timed_out;
  if (reply.end != CallEnd::done) return;
  const std::size_t results = is_row_scalar(op_) ? 1 : rows[0].size();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto begin = reply.outputs[0].begin() + static_cast<std::ptrdiff_t>(r * results);
    RowCase row_case;
    row_case.row = RunLengthRow::of(rows[r]);
    row_case.theta = theta;
    row_case.format = input_;
    probes.add({to_text(row_case), rows[r], theta, {begin, begin + static_cast<std::ptrdiff_t>(results)}});
  }
}

void Prober::ask_masked(bool by_mask, ProbeSet& probes) {
  if (died_) return;
  const std::vector<double> nothing(3, -std::numeric_limits<double>::infinity());
  KernelCall call;
  call.op = op_;
  call.input = input_;
  call.output = output_;
  call.columns = static_cast<std::int64_t>(nothing.size());
  call.logits = by_mask ? std::vector<double>(nothing.size(), 1) : nothing;
  if (by_mask) call.mask.assign(nothing.size(), 0);
  const TensorReply reply = kernel_.call(lowered(call));
  died_ = reply.end == CallEnd::crashed || reply.end == CallEnd::timed_out;
  if (reply.end != CallEnd::done) return;
  probes.add({by_mask ? "3 logits behind the mask" : "3 logits of -inf", nothing, 1, reply.outputs[0]});
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

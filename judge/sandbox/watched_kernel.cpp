#include "judge/sandbox/watched_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace softcheck::proptests {
namespace {

using numerics::Certificate;
using numerics::Enclosure;
using numerics::Verdict;

// A kernel that does not support a kind of call refuses it every time.
constexpr std::size_t enough_refusals = 16;

}  // namespace

Certificate observed(const std::string& claim, KernelEvidence evidence, std::size_t times) {
  Certificate result;
  result.claim = claim;
  result.left = Enclosure::integer(times);
  result.right = Enclosure(0);
  result.slack = times == 0 ? 0 : std::numeric_limits<double>::infinity();
  result.verdict = times == 0 ? Verdict::proved : Verdict::violated;
  return with_evidence(std::move(result), std::move(evidence));
}

Certificate observed(const std::string& claim, CallDescription asked, std::size_t times) {
  KernelEvidence evidence;
  evidence.asked = std::move(asked);
  return observed(claim, std::move(evidence), times);
}

bool same_bits(std::span<const double> a, std::span<const double> b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y));
  });
}

WatchedKernel::WatchedKernel(const KernelSource& source, const KernelLimits& limits, std::set<std::string> exempt,
                             bool must_accept)
    : kernel_(source, limits), exempt_(std::move(exempt)), must_accept_(must_accept), most_calls_(limits.most_calls) {}

std::vector<std::string> WatchedKernel::call_claims() const {
  std::vector<std::string> result = claims();
  if (must_accept_) result.emplace_back("kernel.accepts");
  return result;
}

const std::vector<std::string>& WatchedKernel::claims() {
  static const std::vector<std::string> claims{"kernel.returns", "kernel.keeps_inputs", "kernel.stays_inside",
                                               "kernel.keeps_environment"};
  return claims;
}

std::vector<std::vector<double>> WatchedKernel::call(const TensorCall& call, const CallKind& kind,
                                                     const std::function<CallDescription()>& named,
                                                     Certificates& certificates) {
  // Spend the time limit once: a kernel that hung is not called again, and shrinking stops where it is.
  if (timed_out_) return {};
  Answers& answers = answers_[kind.words];
  answers.asks = kind.asks;
  if (!must_accept_ && !kind.plain && answers.accepted == 0 && answers.refused == enough_refusals) return {};
  if (most_calls_ != 0 && kernel_.calls() >= most_calls_) throw Interrupted();
  passed_ = keeps_calls_ ? std::make_shared<const TensorCall>(call) : nullptr;
  const auto asked = [&] {
    CallDescription result = named();
    result.passed = passed_;
    return result;
  };
  TensorReply reply = kernel_.call(call);
  if (reply.wrote_late) {
    CallDescription late = asked();
    late.remark += " (an earlier call wrote after it returned)";
    certificates.push_back(observed("kernel.stays_inside", std::move(late), 1));
  }
  if (reply.end == CallEnd::not_made) {
    note("calls whose tensors the device has no memory for were not made, and count as refused");
    return {};
  }
  if (reply.end == CallEnd::refused) {
    ++answers.refused;
    if (must_accept_) {
      CallDescription refused = asked();
      refused.remark += " (refused: it returned " + std::to_string(reply.refusal) + ")";
      certificates.push_back(observed("kernel.accepts", std::move(refused), 1));
    }
    return {};
  }
  if (must_accept_) certificates.push_back(observed("kernel.accepts", CallDescription{}, 0));
  ++answers.accepted;
  timed_out_ = reply.end == CallEnd::timed_out;
  KernelEvidence how;
  if (reply.end != CallEnd::done) {
    how.asked = asked();
    how.ending = CallEnding{reply.end, reply.death, reply.printed, call.inputs.front().place.shape};
  }
  certificates.push_back(observed("kernel.returns", std::move(how), reply.end == CallEnd::done ? 0 : 1));
  const auto note_of = [&](const char* claim, bool seen, const char* what) {
    CallDescription of = seen ? asked() : CallDescription{};
    if (seen) of.remark += what;
    certificates.push_back(observed(claim, std::move(of), seen ? 1 : 0));
  };
  note_of("kernel.keeps_inputs", reply.inputs_changed, " (the call changed one of its inputs)");
  note_of("kernel.stays_inside", reply.wrote_outside, " (the call wrote outside its outputs)");
  note_of("kernel.keeps_environment", reply.environment_changed,
          " (after the call the rounding, flush-to-zero or exceptions were others)");
  return std::move(reply.outputs);
}

void WatchedKernel::compare(std::span<const double> first, std::span<const double> second, bool required,
                            const std::string& claim, const std::string& difference, const CallDescription& asked,
                            Certificates& certificates) {
  const bool differ = !same_bits(first, second);
  if (differ) note(difference);
  if (required) certificates.push_back(observed(claim, asked, differ ? 1 : 0));
}

Certificates WatchedKernel::without_exempt(Certificates certificates) {
  for (const Certificate& certificate : certificates) {
    if (certificate.verdict == Verdict::proved || !exempts(certificate.claim)) continue;
    note("does not hold, as known: " + certificate.claim);
  }
  std::erase_if(certificates, [&](const Certificate& certificate) { return exempts(certificate.claim); });
  return certificates;
}

// The results that the kernel refuses in every kind of call, if at least two kinds asked for them.
std::map<std::string, WatchedKernel::Together> WatchedKernel::refused_together() const {
  std::map<std::string, Together> all;
  for (const auto& [kind, answers] : answers_) {
    Together& of = all[answers.asks];
    ++of.kinds;
    of.accepted += answers.accepted;
    of.refused += answers.refused;
  }
  std::erase_if(all, [](const auto& one) {
    return one.first.empty() || one.second.kinds == 1 || one.second.accepted > 0 || one.second.refused == 0;
  });
  return all;
}

std::vector<std::string> WatchedKernel::notes() const { return {notes_.begin(), notes_.end()}; }

std::vector<std::string> WatchedKernel::refusals() const {
  std::vector<std::string> result;
  constexpr std::size_t few_kinds = 8;
  if (answers_.size() > few_kinds &&
      std::ranges::all_of(answers_, [](const auto& one) { return one.second.accepted == 0; })) {
    result.push_back("refused calls of all " + std::to_string(answers_.size()) + " kinds, the first " +
                     answers_.begin()->first);
    return result;
  }
  const std::map<std::string, Together> together = refused_together();
  for (const auto& [asks, all] : together) {
    result.push_back("refused all " + std::to_string(all.refused) + " calls " + asks + ", of " +
                     std::to_string(all.kinds) + " kinds");
  }
  for (const auto& [kind, answers] : answers_) {
    if (answers.refused == 0 || together.contains(answers.asks)) continue;
    const bool given_up = answers.accepted == 0 && answers.refused == enough_refusals;
    result.push_back("refused " + std::to_string(answers.refused) + (answers.refused == 1 ? " call " : " calls ") +
                     kind + (given_up ? ", and was then asked no more" : ""));
  }
  return result;
}

}  // namespace softcheck::proptests

#include "theory/streaming_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "numerics/rounding/rounding.hpp"
#include "numerics/rows/row_oracle.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_agreement;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Format;
using numerics::Sides;

namespace {

using ExactState = EntropyState<double, Enclosure>;

// Streams a piece of a row, equal neighbours as one leaf: items of one logit merge exactly.
ExactState stream_runs(std::span<const double> piece) {
  ExactState state;
  for (std::size_t begin = 0; begin < piece.size();) {
    std::size_t end = begin + 1;
    while (end < piece.size() && piece[end] == piece[begin]) ++end;
    state = merge(state, entropy_state<Enclosure>(piece[begin], end - begin));
    begin = end;
  }
  return state;
}

ExactState merge_by_plan(std::span<const double> logits, const MergePlan& plan) {
  std::vector<ExactState> slots;
  for (std::size_t c = 0; c + 1 < plan.cuts.size(); ++c) {
    slots.push_back(stream_runs(logits.subspan(plan.cuts[c], plan.cuts[c + 1] - plan.cuts[c])));
  }
  for (const MergeStep& step : plan.steps) slots[step.into] = merge(slots[step.into], slots[step.from]);
  return slots[0];
}

// Two computations of one entropy. If it is 0 or below the smallest number of MPFR, about e^(-2^61), compares the
// perplexities e^H, which are then 1 to hundreds of digits.
Sides same_entropy(const Enclosure& left, const Enclosure& right) {
  if (left.certainly_positive() && right.certainly_positive()) return {left, right};
  return {exp(left), exp(right)};
}

// Entropies about two reference points: ln S and K / S cancel up to H, so compares perplexities.
Sides same_perplexity(const Enclosure& left, const Enclosure& right) { return {exp(left), exp(right)}; }

// Equality of two states: their maxima, S, and 1 + T (T may be too small for any number).
std::vector<Certificate> certify_same_state(const std::string& claim, const std::string& witness,
                                            const std::function<std::pair<ExactState, ExactState>()>& states) {
  auto both = at_each_precision(states);
  const auto maximum = [](const ExactState& state) { return Enclosure(state.maximum.value_or(0)); };
  return {certify(claim, witness + " (m)", numerics::Relation::equal,
                  [&] {
                    return Sides{maximum(both().first), maximum(both().second)};
                  }),
          certify_agreement(claim, witness + " (S)",
                            [&] {
                              return Sides{1 + both().first.others, 1 + both().second.others};
                            }),
          certify_agreement(claim, witness + " (T)", [&] {
            return Sides{1 + both().first.moment, 1 + both().second.moment};
          })};
}

void append(std::vector<Certificate>& all, std::vector<Certificate> more) {
  for (Certificate& certificate : more) all.push_back(std::move(certificate));
}

// Three pieces of the row for the laws of the monoid.
struct Pieces {
  ExactState a, b, c;
};

Pieces three_pieces(std::span<const double> logits) {
  const std::size_t first = logits.size() / 3, second = logits.size() * 2 / 3;
  return {stream_runs(logits.subspan(0, first)), stream_runs(logits.subspan(first, second - first)),
          stream_runs(logits.subspan(second))};
}

// Some reference points, exact doubles: above and below the maximum, and the first item while its distance does not
// overflow the exponential.
std::vector<double> reference_points(const LevelRow& row, std::span<const double> logits) {
  std::vector<double> points{row.largest() + 1, row.largest() - 1};
  const auto first = std::ranges::find_if(logits, [](double x) { return !streaming::is_masked(x); });
  if (row.largest() - *first < 0x1p20) points.push_back(*first);
  std::erase_if(points, [](double x) { return !std::isfinite(x); });
  return points;
}

struct Rescalings {
  std::optional<double> maximum;
  std::uint64_t count = 0;
};

Rescalings merge(const Rescalings& a, const Rescalings& b) {
  if (!a.maximum) return b;
  if (!b.maximum) return a;
  if (*a.maximum == *b.maximum) return {a.maximum, std::max(a.count, b.count)};
  const auto& high = *a.maximum > *b.maximum ? a : b;
  const auto& low = *a.maximum > *b.maximum ? b : a;
  return {high.maximum, std::max(high.count, low.count + 1)};
}

std::string rounding_claim(Format format) {
  return "streaming_entropy.rounding_" + std::string(numerics::properties(format).name);
}

template <class Accumulator>
std::pair<double, double> streamed_and_two_pass(std::span<const double> logits, const MergePlan& plan) {
  const numerics::FpEnvironmentGuard environment;
  return {static_cast<double>(entropy(streamed_state<Accumulator>(logits, plan))),
          static_cast<double>(entropy_two_pass<Accumulator>(logits))};
}

std::string plan_text(const MergePlan& plan) { return " in " + std::to_string(plan.cuts.size() - 1) + " chunks"; }

}  // namespace

MergePlan MergePlan::chunks_of(std::size_t length, std::size_t n) {
  if (length == 0) throw std::invalid_argument("MergePlan::chunks_of: need a length >= 1, got 0");
  MergePlan plan;
  for (std::size_t begin = 0; begin < n; begin += length) plan.cuts.push_back(begin);
  if (plan.cuts.empty()) plan.cuts.push_back(0);
  plan.cuts.push_back(n);
  for (std::size_t c = 1; c + 1 < plan.cuts.size(); ++c) plan.steps.push_back({0, c});
  return plan;
}

void MergePlan::require_valid(std::size_t n) const {
  const auto refuse = [](const std::string& why) { throw std::invalid_argument("MergePlan: need " + why); };
  if (cuts.size() < 2 || cuts.front() != 0 || cuts.back() != n || !std::ranges::is_sorted(cuts)) {
    refuse("ascending cuts from 0 to " + std::to_string(n));
  }
  std::vector<bool> merged(cuts.size() - 1, false);
  if (steps.size() + 1 != merged.size()) refuse("one step less than chunks, got " + std::to_string(steps.size()));
  for (const auto& [into, from] : steps) {
    const bool fine = into < merged.size() && from < merged.size() && into != from && !merged[into] && !merged[from];
    if (!fine || from == 0) refuse("steps that merge two states still unmerged, slot 0 last");
    merged[from] = true;
  }
}

std::uint64_t plan_rescalings(std::span<const double> logits, const MergePlan& plan) {
  plan.require_valid(logits.size());
  std::vector<Rescalings> slots(plan.cuts.size() - 1);
  for (std::size_t c = 0; c < slots.size(); ++c) {
    for (std::size_t i = plan.cuts[c]; i < plan.cuts[c + 1]; ++i) {
      // An item below the maximum is multiplied only by its own exponential, which is not a rescaling.
      if (streaming::is_masked(logits[i]) || (slots[c].maximum && logits[i] <= *slots[c].maximum)) continue;
      slots[c] = {logits[i], slots[c].count + (slots[c].maximum ? 1 : 0)};
    }
  }
  for (const MergeStep& step : plan.steps) slots[step.into] = merge(slots[step.into], slots[step.from]);
  return slots[0].count;
}

std::vector<Certificate> certify_recurrence(std::span<const double> logits) {
  if (!has_visible(logits)) return {};
  const LevelRow row(logits);
  const std::string witness = witness_text(row, 1);
  auto oracle = at_each_precision([logits] { return numerics::RowOracle(logits).entropy(); });
  std::vector<Certificate> all{certify_agreement("streaming_entropy.recurrence", witness,
                                                 [&] { return same_entropy(entropy(stream_runs(logits)), oracle()); })};
  for (const double r : reference_points(row, logits)) {
    all.push_back(certify_agreement("streaming_entropy.reference_point", witness + " r=" + numerics::hex_float(r), [&] {
      return same_perplexity(entropy_about(row.levels(), Enclosure(r)), oracle());
    }));
  }
  return all;
}

std::vector<Certificate> certify_monoid(std::span<const double> logits) {
  if (!has_visible(logits)) return {};
  const std::string witness = witness_text(LevelRow(logits), 1);
  auto pieces = at_each_precision([logits] { return three_pieces(logits); });
  std::vector<Certificate> all = certify_same_state("streaming_entropy.merge_associative", witness, [&] {
    const auto& [a, b, c] = pieces();
    return std::pair(merge(merge(a, b), c), merge(a, merge(b, c)));
  });
  append(all, certify_same_state("streaming_entropy.merge_commutative", witness, [&] {
           const auto& [a, b, c] = pieces();
           return std::pair(merge(merge(a, b), c), merge(c, merge(b, a)));
         }));
  append(all, certify_same_state("streaming_entropy.identity", witness, [&] {
           const ExactState whole = stream_runs(logits), empty = entropy_state<Enclosure>(0.0, 0);
           return std::pair(merge(merge(empty, whole), empty), whole);
         }));
  return all;
}

std::vector<Certificate> certify_every_tree(std::span<const double> logits, const MergePlan& plan) {
  plan.require_valid(logits.size());
  if (!has_visible(logits)) return {};
  return {certify_agreement("streaming_entropy.every_tree", witness_text(LevelRow(logits), 1) + plan_text(plan), [&] {
    return same_entropy(entropy(merge_by_plan(logits, plan)), numerics::RowOracle(logits).entropy());
  })};
}

numerics::Contract streaming_contract(Format format) {
  if (format != Format::f32 && format != Format::f64 && format != Format::bf16) {
    throw std::invalid_argument("streaming_contract: need f32, f64 or bf16, got " +
                                std::string(numerics::properties(format).name));
  }
  numerics::Contract contract;
  contract.input = format;
  contract.output = contract.accumulator = format == Format::f64 ? Format::f64 : Format::f32;
  // The C library's exp and log1p, in float and double: the manual of glibc ("Errors in Math Functions") lists at most
  // 1 ulp for x86_64. 2 are granted to the logarithm.
  contract.exp_error = 2;
  contract.log_error = 4;
  contract.subnormals = numerics::Subnormals::kept;
  return contract;
}

double streaming_error_bound(std::span<const double> logits, const MergePlan& plan, Format format) {
  const numerics::Contract contract = streaming_contract(format);
  const numerics::PrecisionScope scope(113);
  const numerics::RowOracle oracle(logits);
  const auto row = numerics::row_statistics<numerics::UpperBound>(oracle, plan_rescalings(logits, plan));
  return upper(entropy_error(contract, row).total());
}

Certificate certify_entropy_within(std::span<const double> logits, double computed, double bound, Format format) {
  return certify_less_equal(rounding_claim(format), witness_text(LevelRow(logits), 1), [&] {
    if (!std::isfinite(computed)) return Sides{Enclosure(1), Enclosure(0)};  // within no bound
    return Sides{abs(Enclosure(computed) - numerics::RowOracle(logits).entropy()), Enclosure(bound)};
  });
}

std::vector<Certificate> certify_streaming_rounding(std::span<const double> logits, const MergePlan& plan,
                                                    Format format) {
  for (const double x : logits) {
    if (numerics::round_to(format, x) == x) continue;
    throw std::invalid_argument("certify_streaming_rounding: need logits of " +
                                std::string(numerics::properties(format).name) + ", got " + numerics::hex_float(x));
  }
  if (!has_visible(logits)) return {};
  const double bound = streaming_error_bound(logits, plan, format);
  if (!std::isfinite(bound)) return {};
  const auto [streamed, two_pass] =
      format == Format::f64 ? streamed_and_two_pass<double>(logits, plan) : streamed_and_two_pass<float>(logits, plan);
  std::vector<Certificate> result{certify_entropy_within(logits, streamed, bound, format),
                                  certify_entropy_within(logits, two_pass, bound, format)};
  result[0].witness += " streamed" + plan_text(plan);
  result[1].witness += " in two passes";
  return result;
}

}  // namespace softcheck::theory

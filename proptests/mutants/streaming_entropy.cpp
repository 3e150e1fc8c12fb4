#include "theory/streaming_entropy.hpp"

#include <rapidcheck.h>

#include <cmath>
#include <utility>

#include "numerics/rows/row_oracle.hpp"
#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using numerics::certify_agreement;
using numerics::Enclosure;
using numerics::Format;
using numerics::Sides;
using State = theory::EntropyState<double, Enclosure>;
using Merge = std::function<State(const State&, const State&)>;

State leaf(const Run& run) { return theory::entropy_state<Enclosure>(run.value, run.count); }

// A merge with a wrong rescaling: `shift` multiplies d S in T, `scaled` says whether S and T are rescaled.
State wrong_merge(const State& a, const State& b, int shift, bool scaled) {
  if (!a.maximum || !b.maximum || *a.maximum == *b.maximum) return theory::merge(a, b);
  const State& high = *a.maximum > *b.maximum ? a : b;
  const State& low = *a.maximum > *b.maximum ? b : a;
  const Enclosure d = theory::difference(*high.maximum, *low.maximum);
  const Enclosure scale = scaled ? exp(-d) : Enclosure(1), sum = low.others + 1;
  return {high.maximum, high.others + scale * sum, high.moment + scale * (low.moment + shift * d * sum)};
}

// Keeps the first block's maximum as the reference: S and T are correct, but the state depends on the order.
State first_maximum(const State& a, const State& b) {
  if (!a.maximum || !b.maximum) return theory::merge(a, b);
  const Enclosure d = theory::difference(*a.maximum, *b.maximum), scale = exp(-d), sum = b.others + 1;
  return {a.maximum, a.others + scale * sum, a.moment + scale * (b.moment + d * sum)};
}

RowCheck recurrence_with(const Merge& merge) {
  return [=](const RowCase& row_case) {
    const std::vector<double> logits = row_case.row.expand();
    return Certificates{certify_agreement("streaming_entropy.recurrence", to_text(row_case), [&] {
      State state;
      for (const Run& run : row_case.row.runs()) state = merge(state, leaf(run));
      // As perplexities, because entropies that underflow would agree; negative entropies have one, too.
      return Sides{exp(theory::entropy(state)), exp(numerics::RowOracle(logits).entropy())};
    })};
  };
}

RowCheck commutes(const Merge& merge) {
  return [=](const RowCase& row_case) -> Certificates {
    const std::vector<Run>& runs = row_case.row.runs();
    const State a = leaf(runs.front()), b = leaf(runs.back());
    if (!a.maximum || !b.maximum) return {};
    return {certify("streaming_entropy.merge_commutative", to_text(row_case), numerics::Relation::equal, [&] {
      return Sides{Enclosure(*merge(a, b).maximum), Enclosure(*merge(b, a).maximum)};
    })};
  };
}

// The empty state counts as an item at 0, like zero-initialised registers.
Certificates zeros_are_empty(const RowCase& row_case) {
  return {certify_agreement("streaming_entropy.identity", to_text(row_case), [&] {
    const State zeros{0.0, Enclosure(0), Enclosure(0)}, whole = leaf(row_case.row.runs().front());
    return Sides{1 + theory::merge(zeros, whole).others, 1 + whole.others};
  })};
}

MergeCheck tree_with(const Merge& merge) {
  return [=](const MergeTreeCase& merge_case) {
    const std::vector<double> logits = merge_case.row.row.expand();
    return Certificates{certify_agreement("streaming_entropy.every_tree", to_text(merge_case), [&] {
      std::vector<State> states;
      for (const auto& chunk : chunks_of(merge_case, logits)) {
        State state;
        const RunLengthRow pieces = RunLengthRow::of(chunk);
        for (const Run& run : pieces.runs()) state = theory::merge(state, leaf(run));
        states.push_back(std::move(state));
      }
      return Sides{exp(theory::entropy(merge_case.tree.fold(std::move(states), merge))),
                   exp(numerics::RowOracle(logits).entropy())};
    })};
  };
}

// Compares any computed entropy with the bound of the correct one.
MergeCheck computes(Format format, std::function<double(std::span<const double>, const theory::MergePlan&)> entropy) {
  return [=](const MergeTreeCase& merge_case) -> Certificates {
    const std::vector<double> logits = merge_case.row.row.expand();
    const theory::MergePlan plan = plan_of(merge_case);
    const double bound = theory::streaming_error_bound(logits, plan, format);
    if (!std::isfinite(bound)) return {};
    return {theory::certify_entropy_within(logits, entropy(logits, plan), bound, format)};
  };
}

template <class Accumulator>
double accumulated_in(std::span<const double> logits, const theory::MergePlan& plan) {
  return static_cast<double>(theory::entropy(theory::streamed_state<Accumulator>(logits, plan)));
}

// H = m + ln S - sum w x / S: not shift-invariant (bound B7).
double uncentred(std::span<const double> logits, const theory::MergePlan&) {
  float maximum = -INFINITY, sum = 0, moment = 0;
  for (const double x : logits) maximum = std::fmax(maximum, static_cast<float>(x));
  for (const double x : logits) {
    if (std::isinf(x)) continue;
    const float weight = std::exp(static_cast<float>(x) - maximum);
    sum += weight;
    moment += weight * static_cast<float>(x);
  }
  return maximum + std::log(sum) - moment / sum;
}

// The recurrence without its guards: infinity * 0 at the first item, -inf - (-inf) in a fully masked prefix.
double unguarded(std::span<const double> logits, const theory::MergePlan&) {
  float maximum = -INFINITY, sum = 0, moment = 0;
  for (const double logit : logits) {
    const auto x = static_cast<float>(logit);
    const float next = std::fmax(maximum, x), scale = std::exp(maximum - next), weight = std::exp(x - next);
    moment = scale * (moment + (next - maximum) * sum) + (next - x) * weight;
    sum = scale * sum + weight;
    maximum = next;
  }
  return std::log(sum) + moment / sum;
}

}  // namespace

std::vector<PlantedVersion> streaming_entropy_planted() {
  const Merge no_shift = [](const State& a, const State& b) { return wrong_merge(a, b, 0, true); };
  const Merge wrong_sign = [](const State& a, const State& b) { return wrong_merge(a, b, -1, true); };
  const Merge no_scale = [](const State& a, const State& b) { return wrong_merge(a, b, 1, false); };
  return {{"forgets to shift the moment", recurrence_gives_the_entropy(recurrence_with(no_shift))},
          {"shifts the moment the wrong way", recurrence_gives_the_entropy(recurrence_with(wrong_sign))},
          {"keeps the maximum of the first block", states_form_a_monoid(commutes(first_maximum))},
          {"takes zeros for the empty state", states_form_a_monoid(zeros_are_empty)},
          {"adds blocks without rescaling", every_tree_gives_the_entropy(tree_with(no_scale))},
          {"takes the moment about 0", rounding_stays_within_its_bound(Format::f32, computes(Format::f32, uncentred))},
          {"starts from -inf without a guard",
           rounding_stays_within_its_bound(Format::f32, computes(Format::f32, unguarded))},
          {"accumulates f64 in float",
           rounding_stays_within_its_bound(Format::f64, computes(Format::f64, accumulated_in<float>))},
          {"accumulates bf16 in bf16",
           rounding_stays_within_its_bound(Format::bf16, computes(Format::bf16, accumulated_in<theory::BFloat16>))}};
}

}  // namespace softcheck::proptests

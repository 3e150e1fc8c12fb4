#include <rapidcheck.h>

#include <algorithm>
#include <stdexcept>

#include "judge/ops/attention/attention_rows.hpp"
#include "judge/trial/attention_trial.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "numerics/rounding/rounding_operations.hpp"
#include "proptests/generators/attention/attention_classes.hpp"
#include "proptests/generators/attention/attention_known.hpp"

namespace softcheck::proptests {
namespace {

AttentionOptions cases_for(const KernelSubject& subject) {
  AttentionOptions cases;
  cases.format = subject.contract.input;
  cases.domain = subject.op.attention_op().narrowed(subject.domain);
  cases.gradients = std::ranges::any_of(subject.op->inputs, [](const OpInput& input) {
    return input.role == Role::out_gradient || input.role == Role::upstream;
  });
  cases.sigmoid = subject.op->sigmoid;
  // Adaptive attention multiplies the scores' errors by beta's.
  const double more = subject.op->adaptive ? 8 : 1;
  const numerics::Contract& contract = subject.contract;
  cases.score_unit = more * numerics::properties(contract.accumulator).unit_roundoff;
  const auto stored_in = [&](numerics::Format format) {
    cases.score_unit = std::max(cases.score_unit, more * numerics::properties(format).unit_roundoff);
  };
  if (contract.scores) stored_in(*contract.scores);
  if (contract.differences) stored_in(*contract.differences);
  if (contract.scale == numerics::ScaleUse::stored) stored_in(contract.input);
  constexpr double roundings = 6;  // of a softcap, besides tanh itself
  cases.cap_unit = (contract.tanh_error + roundings) * numerics::properties(contract.accumulator).unit_roundoff;
  if (contract.softcap) cases.cap_unit += 3 * numerics::properties(*contract.softcap).unit_roundoff;
  return cases;
}

ScoreReach reach_of(const KernelSubject& subject, const AttentionOptions& cases) {
  const numerics::Contract& contract = subject.contract;
  constexpr double dimensions = 16;
  ScoreReach reach;
  reach.rounded = 1 / (16 * cases.score_unit * dimensions);
  const bool exact = contract.exp_argument_error <= 1 && numerics::embeds(contract.input, contract.accumulator) &&
                     !cases.domain.has_fixed_bias();
  reach.exact = exact ? most_score(subject) : reach.rounded;
  reach.product = numerics::properties(contract.accumulator).largest / dimensions;
  reach.halves_exactly = contract.scale == numerics::ScaleUse::whole;
  return reach;
}

AttentionOptions short_cases(AttentionOptions cases) {
  cases.max_keys = cases.long_keys = 70;
  cases.max_work = std::size_t{1} << 15;
  return cases;
}

// The cost limit of the property of all pairs of classes, and how many of its choices are drawn.
struct CoveringSize {
  AttentionBudget budget;
  std::optional<std::size_t> each;  // number of choices that have each class; nothing: cover every pair of classes
  std::size_t times = 1;            // number of times that every choice is drawn
};

CoveringSize covering_size(Effort effort, const KernelSubject& subject, bool gradients) {
  AttentionBudget full;
  // A gradient also needs thresholds of sums over all queries for every key, and a forward pass before its call.
  if (gradients) full = {full.work / 8, full.numbers / 8, full.judged / 8};
  switch (effort) {
    case Effort::quick:
      return {{full.work / 8, full.numbers / 2, full.judged / 4}, 2, 1};
    case Effort::normal:
      // Cheaper calls cover nearly all pairs, too; only some pairs of two large sizes need more.
      full.work /= gradients ? 4 : subject.op->adaptive || subject.op->differential ? 2 : 1;
      return {full, std::nullopt, 1};
    case Effort::deep:
    case Effort::exhaustive:
      break;
  }
  return {full, std::nullopt, 4};
}

}  // namespace

std::vector<KernelProperty> attention_properties(const KernelSubject& subject, const JudgeOptions& options,
                                                 AttentionTrial& trial, PropertyShare share) {
  const AttentionOptions cases = cases_for(subject);
  const AttentionOptions shorter = short_cases(cases);
  AttentionOptions strided = shorter;
  strided.layouts = true;
  AttentionOptions plain = shorter;  // these properties add masks and causality themselves
  plain.masks = plain.causal = false;
  AttentionOptions causal = plain;
  causal.always_causal = true;
  AttentionOptions small = plain;
  small.max_keys = small.long_keys = 20;
  small.max_work = std::size_t{1} << 12;

  const Domain& domain = cases.domain;
  std::vector<std::string> calls = WatchedKernel::claims();
  if (!subject.domain.everything()) calls.emplace_back("kernel.accepts");
  std::vector<std::string> all = calls;
  std::vector<std::string> of_values = value_claims(subject.op), asked;
  of_values.resize(of_values.size() - subject.op->optional_outputs);
  // Only calls with sinks have a gradient by the sinks, and only calls with a bias have one by the bias.
  if (domain.sink_gradients) asked.push_back(value_claims(subject.op)[of_values.size()]);
  if (domain.bias_gradient) asked.push_back(value_claims(subject.op)[of_values.size() + 1]);
  all.insert(all.end(), of_values.begin(), of_values.end());
  const auto with = [](std::vector<std::string> claims, const std::vector<std::string>& more, bool wanted = true) {
    for (const std::string& claim : more) {
      if (wanted && std::ranges::find(claims, claim) == claims.end()) claims.push_back(claim);
    }
    return claims;
  };
  // Any call may have a key that no query sees, or an ignored row.
  all = with(all, {"kernel.masked_row"}, cases.gradients || subject.op->is_linear() || domain.has_fixed_mask());
  // An ignored row of a linear layer's loss sees nothing.
  const bool sees_nothing = !subject.op->is_linear() ? may_see_nothing(domain, cases.gradients)
                                                     : !domain.no_ignored || (subject.op->outputs.size() > 1 &&
                                                                              domain.length("queries").contains(0));

  using Check = Certificates (AttentionTrial::*)(const AttentionCase&);
  std::vector<KernelProperty> properties;
  const auto add_drawn = [&](const char* sentence, std::vector<std::string> claims,
                             const rc::Gen<AttentionCase>& generator, Check check, int count,
                             std::vector<AttentionCase> listed = {}) {
    std::erase_if(claims, [&](const std::string& claim) {
      return subject.exempt.contains(claim) || (claim == "kernel.masked_row" && !sees_nothing);
    });
    PropertyOf<AttentionCase> property{
        kernel_suite,
        sentence,
        std::move(claims),
        generator,
        [&trial, check](const AttentionCase& c) { return trial.watched().without_exempt(trial.check(c, check)); },
        std::move(listed)};
    property.pointed_at = [domain](const AttentionCase& c, const Certificates& failed) {
      return cases_named_by(c, failed, domain);
    };
    AttentionOptions smaller = cases;
    smaller.blind_queries = !domain.all_see;
    property.shrinkable = [smaller](const AttentionCase& c) {
      return rc::shrinkable::shrinkRecur(
          c, [smaller](const AttentionCase& from) { return shrink_attention_case(from, smaller); });
    };
    properties.push_back({std::move(property), count});
  };
  const auto add_listed = [&](const char* sentence, std::vector<std::string> claims,
                              const std::vector<AttentionCase>& listed) {
    if (listed.empty() || share == PropertyShare::drawn) return;
    add_drawn(sentence, std::move(claims), rc::gen::just(AttentionCase{}), &AttentionTrial::of_classes, 1, listed);
  };
  const auto add = [&](const char* sentence, std::vector<std::string> claims, const AttentionOptions& drawn,
                       Check check, int share = 2, int at_least = 1) {
    add_drawn(sentence, std::move(claims), attention_cases(drawn), check,
              std::max(at_least, options.run.cases / share));
  };
  // A case has some 30 rows: a deep run reaches a million rows with those of the other properties, whether the kernel
  // returns entropies or not.
  const int for_the_rows = options.effort == Effort::deep ? static_cast<int>(options.rows / 40) : 1;
  add("EveryValueLiesWithinItsThreshold", with(all, {"kernel.deterministic"}, subject.required.deterministic), cases,
      &AttentionTrial::as_it_is, 1, for_the_rows);
  add("LayoutsAndNeighboursDoNotMatter", with(all, {"kernel.batch_invariant"}, subject.required.batch_invariant),
      strided, &AttentionTrial::laid_out, 1);
  add("EarlierCallsDoNotMatter", all, small, &AttentionTrial::after_others);
  add_listed("ScoresReachTheirRange", all, reaching_cases(cases, reach_of(subject, cases)));
  if (!domain.no_mask) add("AMaskedItemIsADeletedOne", all, plain, &AttentionTrial::masked_as_deleted);
  if (!domain.no_causal) add("ALaterKeyIsNotThere", all, causal, &AttentionTrial::later_keys);
  const bool hides = !domain.no_mask || !domain.no_causal, no_keys = domain.length("keys").contains(0);
  if (hides && sees_nothing && !domain.has_fixed_mask() && !domain.all_see)
    add("AFullyMaskedRowIsAsDeclared", with(all, {"kernel.masked_row"}), plain, &AttentionTrial::blind);
  const bool no_queries = cases.gradients && domain.length("queries").contains(0);  // keys then have gradient 0
  add("AnEmptyCallHasItsValues", with(calls, {"kernel.masked_row"}, no_keys || no_queries), small,
      &AttentionTrial::empty);
  // A NaN in a key that is a value, too, has no call of its own.
  const bool nans = !domain.finite && !domain.values_view;
  if (nans) {
    add("ANanReachesWhoeverMeetsIt", with(all, {"kernel.nan_row"}), plain, &AttentionTrial::with_a_nan);
  }
  const CoveringSize size = covering_size(options.effort, subject, cases.gradients || subject.op->is_linear());
  AttentionOptions covering = cases;
  covering.blind_queries = !domain.all_see;
  covering.attributes = domain.has_attributes();
  std::vector<ClassChoice> choices = attention_choices(covering, size.budget, options.run.seed, size.each);
  if (share == PropertyShare::all) trial.excuse_classes(covering, size.budget);
  if (!choices.empty()) {
    const auto count = static_cast<int>(choices.size() * size.times);
    add_drawn("EveryPairOfClassesIsComputed",
              with(with(with(all, asked), {"kernel.masked_row"}, hides || no_keys || domain.window), {"kernel.nan_row"},
                   nans),
              attention_cases_of(std::move(choices), covering, size.budget), &AttentionTrial::of_classes, count);
  }
  if (domain.has_attributes()) {
    AttentionOptions attributes = shorter, in_strides = strided;
    attributes.attributes = in_strides.attributes = true;
    attributes.blind_queries = in_strides.blind_queries = !domain.all_see;
    const std::vector<std::string> with_blind = with(with(all, asked), {"kernel.masked_row"}, hides || domain.window);
    add("AttributesAreComputedAsDefined", with(with_blind, {"kernel.deterministic"}, subject.required.deterministic),
        attributes, &AttentionTrial::as_it_is, 1);
    add("AttributesReachEveryLayoutAndNeighbour",
        with(with_blind, {"kernel.batch_invariant"}, subject.required.batch_invariant), in_strides,
        &AttentionTrial::laid_out);
    add("EarlierAttributesDoNotMatter", with_blind, attributes, &AttentionTrial::after_other_attributes, 4);
    if (domain.window) {
      add("AKeyBesideTheWindowIsNotThere", with_blind, attributes, &AttentionTrial::outside_window, 4);
    }
  }
  if (domain.has_sequences()) {
    AttentionOptions sequences = strided;
    sequences.blind_queries = !domain.all_see;
    sequences.attributes = domain.has_attributes();
    const std::vector<std::string> with_blind =
        with(with(all, asked), {"kernel.masked_row"}, hides || no_keys || domain.window);
    add("SequencesOfAnyLengthAreComputed", with(with_blind, {"kernel.deterministic"}, subject.required.deterministic),
        sequences, &AttentionTrial::as_it_is, 1);
    if (!domain.hides_finite_numbers()) {
      add("AnotherSequenceIsNotThere", with_blind, sequences, &AttentionTrial::other_sequences);
    }
    add("EarlierLengthsDoNotMatter", with_blind, sequences, &AttentionTrial::after_other_lengths, 4);
  }
  add_listed("LongRowsHaveTheirAttributes", with(with(all, asked), {"kernel.masked_row"}, domain.window || no_keys),
             long_cases(cases, options.effort == Effort::quick));
  if (options.effort != Effort::quick) {
    constexpr std::size_t all_heads = std::size_t{1} << 20, few_heads = 1024;
    add_listed("KnownShapesAreComputed", with(all, {"kernel.masked_row"}, domain.window || no_keys),
               known_cases(cases, cases.gradients ? few_heads : all_heads));
  }
  // Few cases: each call needs a child process of its own.
  add("StridesBeyondAnIntegerAreFollowed", all, small, &AttentionTrial::far_apart, 4);
  return properties;
}

void require_replayable_attention(const KernelSubject& subject, std::string_view case_text) {
  AttentionCase attention;
  from_text(case_text, attention);
  if (attention.attributes.classes != subject.op->is_linear()) {
    throw std::invalid_argument(std::string("need a case that begins with \"") +
                                (subject.op->is_linear() ? "linear\"" : "attention\""));
  }
  const std::string dtype(numerics::properties(subject.contract.input).name);
  if (attention.format != subject.contract.input) {
    throw std::invalid_argument("need a case of the kernel's dtype, " + dtype + ", got one of " +
                                std::string(numerics::properties(attention.format).name));
  }
  AttentionOptions options = cases_for(subject);
  options.blind_queries = true;
  if (!admits(options, attention)) {
    throw std::invalid_argument(
        "need lengths of 1 or more, a finite scale, values inside the domain, and dout where the op is a gradient, "
        "only");
  }
}

}  // namespace softcheck::proptests

#include <rapidcheck.h>

#include <algorithm>
#include <stdexcept>

#include "proptests/judge/attention_trial.hpp"

namespace softcheck::proptests {
namespace {

AttentionOptions cases_for(const KernelSubject& subject) {
  AttentionOptions cases;
  cases.format = subject.contract.input;
  // What scores err by, beta's error multiplies.
  const double more = subject.op == Op::adaptive_attention ? 8 : 1;
  const numerics::Contract& contract = subject.contract;
  cases.score_unit = more * numerics::properties(contract.accumulator).unit_roundoff;
  const auto stored_in = [&](numerics::Format format) {
    cases.score_unit = std::max(cases.score_unit, more * numerics::properties(format).unit_roundoff);
  };
  if (contract.scores) stored_in(*contract.scores);
  if (contract.scale == numerics::ScaleUse::stored) stored_in(contract.input);
  return cases;
}

AttentionOptions short_cases(AttentionOptions cases) {
  cases.max_keys = cases.long_keys = 70;
  cases.max_work = std::size_t{1} << 15;
  return cases;
}

}  // namespace

std::vector<KernelProperty> attention_properties(const KernelSubject& subject, const JudgeOptions& options,
                                                 AttentionTrial& trial) {
  const AttentionOptions cases = cases_for(subject);
  const AttentionOptions shorter = short_cases(cases);
  AttentionOptions strided = shorter;
  strided.layouts = true;
  AttentionOptions plain = shorter;  // masks and causality are the property's own
  plain.masks = plain.causal = false;
  AttentionOptions causal = plain;
  causal.always_causal = true;
  AttentionOptions small = plain;
  small.max_keys = small.long_keys = 20;
  small.max_work = std::size_t{1} << 12;

  const std::vector<std::string> values = attention_claims(subject.op);
  std::vector<std::string> all = WatchedKernel::claims();
  all.insert(all.end(), values.begin(), values.end());
  std::vector<std::string> repeated = all, alone = all, masked = all, nan_row = all;
  if (subject.required.deterministic) repeated.push_back("kernel.deterministic");
  if (subject.required.batch_invariant) alone.push_back("kernel.batch_invariant");
  masked.push_back("kernel.masked_row");
  nan_row.push_back("kernel.nan_row");

  std::vector<std::string> empty = WatchedKernel::claims();
  empty.push_back("kernel.masked_row");

  using Check = Certificates (AttentionTrial::*)(const AttentionCase&);
  std::vector<KernelProperty> properties;
  const auto add = [&](const char* sentence, std::vector<std::string> claims, const AttentionOptions& drawn,
                       Check check, int share = 2, int at_least = 1) {
    std::erase_if(claims, [&](const std::string& claim) { return subject.exempt.contains(claim); });
    properties.push_back({PropertyOf<AttentionCase>{kernel_suite, sentence, std::move(claims), attention_cases(drawn),
                                                    [&trial, check](const AttentionCase& c) {
                                                      return trial.watched().without_exempt((trial.*check)(c));
                                                    }},
                          std::max(at_least, options.run.cases / share)});
  };
  // A case brings some 30 rows: in a deep run a million with what the other properties bring, entropies refused or not.
  const int for_the_rows = options.effort == Effort::deep ? static_cast<int>(options.rows / 40) : 1;
  add("EveryValueLiesWithinItsThreshold", repeated, cases, &AttentionTrial::as_it_is, 1, for_the_rows);
  add("LayoutsAndNeighboursDoNotMatter", alone, strided, &AttentionTrial::laid_out, 1);
  add("EarlierCallsDoNotMatter", all, small, &AttentionTrial::after_others);
  add("AMaskedItemIsADeletedOne", all, plain, &AttentionTrial::masked_as_deleted);
  add("ALaterKeyIsNotThere", all, causal, &AttentionTrial::later_keys);
  add("AFullyMaskedRowIsAsDeclared", masked, plain, &AttentionTrial::blind);
  add("AnEmptyCallHasItsValues", empty, small, &AttentionTrial::empty);
  add("ANanReachesWhoeverMeetsIt", nan_row, plain, &AttentionTrial::with_a_nan);
  // Each case a child of its own.
  add("StridesBeyondAnIntegerAreFollowed", all, small, &AttentionTrial::far_apart, 4);
  return properties;
}

void require_replayable_attention(const KernelSubject& subject, std::string_view case_text) {
  AttentionCase attention;
  from_text(case_text, attention);
  const std::string dtype(numerics::properties(subject.contract.input).name);
  if (attention.format != subject.contract.input) {
    throw std::invalid_argument("need a case of the kernel's dtype, " + dtype + ", got one of " +
                                std::string(numerics::properties(attention.format).name));
  }
  if (!admits(cases_for(subject), attention)) {
    throw std::invalid_argument("need queries and keys, and a key that each query sees");
  }
}

}  // namespace softcheck::proptests

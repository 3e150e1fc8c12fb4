#include "judge/trial/failing_call.hpp"

#include <algorithm>
#include <stdexcept>

#include "judge/call/evidence.hpp"

namespace softcheck::proptests {

std::shared_ptr<const TensorCall> passed_call(const std::optional<Counterexample>& counterexample) {
  if (!counterexample) return nullptr;
  for (const numerics::Certificate& certificate : counterexample->failed) {
    const KernelEvidence* evidence = evidence_of(certificate);
    if (evidence != nullptr && evidence->asked.passed != nullptr) return evidence->asked.passed;
  }
  return nullptr;
}

void keep_failing_call(const std::vector<KernelProperty>& properties, WatchedKernel& kernel,
                       KernelJudgement& judgement) {
  if (!judgement.counterexample || kernel.timed_out()) return;
  const auto failed = std::ranges::find_if(
      properties, [&](const KernelProperty& one) { return one.property.name() == judgement.failed_property; });
  if (failed == properties.end()) return;
  kernel.keep_calls(true);
  try {
    judgement.passed = passed_call(failed->property.replay(judgement.counterexample->case_text).counterexample);
  } catch (const std::invalid_argument&) {
    // The property may not replay its own case: then only the text shows what was passed.
  }
  kernel.keep_calls(false);
}

}  // namespace softcheck::proptests

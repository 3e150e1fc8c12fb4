#pragma once

#include <cstddef>
#include <string>

#include "judge/call/evidence.hpp"
#include "judge/certification/extracted_judge.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::proptests {

/// What the extracted judge said of the failures of one judgement, each value counted once.
struct CertificationSummary {
  std::size_t proved = 0;
  std::size_t not_covered = 0;
  std::size_t disagreements = 0;  // we say fail, and it does not

  /// "2 proved by the extracted judge, 1 not covered"; a disagreement stands first.
  std::string text() const;
};

/// Asks the extracted judge about every failed certificate of a judgement, and notes its answer in their evidence.
///
/// subject    that was judged
/// judge      exists
CertificationSummary certify_failures(const KernelSubject& subject, const ExtractedJudge& judge,
                                      KernelJudgement& judgement);

/// Of one failed certificate.
Certification certified(const KernelSubject& subject, const ExtractedJudge& judge,
                        const numerics::Certificate& certificate);

}  // namespace softcheck::proptests

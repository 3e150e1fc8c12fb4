#pragma once

#include <cstddef>
#include <string>

#include "judge/call/evidence.hpp"
#include "judge/certification/extracted_judge.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::proptests {

/// The extracted judge's answers for the failures of one judgement, each value counted once.
struct CertificationSummary {
  std::size_t proved = 0;
  std::size_t not_covered = 0;
  std::size_t disagreements = 0;  // this judge says fail, the extracted one does not

  /// "2 proved by the extracted judge, 1 not covered"; disagreements come first.
  std::string text() const;
};

/// Asks the extracted judge about every failed certificate, and adds its answers to their evidence.
///
/// subject    of the judgement
/// judge      its program must exist
CertificationSummary certify_failures(const KernelSubject& subject, const ExtractedJudge& judge,
                                      KernelJudgement& judgement);

/// The answer about one failed certificate.
Certification certified(const KernelSubject& subject, const ExtractedJudge& judge,
                        const numerics::Certificate& certificate);

}  // namespace softcheck::proptests

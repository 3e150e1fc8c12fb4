#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "judge/survivors/criterion.hpp"
#include "judge/survivors/zoo_kernel.hpp"

namespace softcheck::proptests {

/// What a criterion says of a kernel. Why it rejects: the values, or the call that did not end.
enum class CriterionVerdict : std::uint8_t { accepted, values, refused, crashed, timed_out, not_applicable };

const char* to_string(CriterionVerdict verdict);

/// Does the criterion apply? To kernels of its op and dtype. A criterion of a 16-bit dtype applies to an f32 kernel of
/// a symbol that the zoo has not in that dtype, too: through a 16-bit interface, inputs of the 16-bit grid and outputs
/// rounded to it.
bool applies(const Criterion& criterion, const ZooKernel& kernel, const std::vector<ZooKernel>& zoo);

/// A criterion with the cases of one seed, for one kernel after the other.
class CriterionRun {
 public:
  struct Setting {
    const std::vector<ZooKernel>& zoo;
    std::filesystem::path folder;  // of the libraries
    std::uint64_t seed;
    double seconds_per_call;
  };

  /// The criterion and the zoo must outlive it.
  CriterionRun(const Criterion& criterion, Setting setting);

  /// Does the kernel not come back from an ordinary call? Then it comes back from none, and every criterion, each of
  /// which makes ordinary calls, meets that: the hang need not be paid for again.
  /// throws   KernelLoadError
  bool hangs(const ZooKernel& kernel) const;

  /// What the criterion says of the kernel, in a process of its own as a test program would be.
  ///
  /// A bug is planted in a kernel that is otherwise correct. Where a correct kernel of the bug's op, dtype, contract
  /// and domain fails as well, a case says nothing of the bug and is not counted. A correct kernel that refuses one of
  /// the calls is not applicable: the ABI lets it. A bug that refuses is rejected.
  ///
  /// throws   KernelLoadError
  CriterionVerdict verdict(const ZooKernel& kernel);

  std::size_t cases() const { return cases_.size(); }
  /// The most cases that were not counted for a bug.
  std::size_t uncounted_cases() const;

 private:
  class Trial;
  std::vector<bool> counted_cases(const ZooKernel& kernel);

  const Criterion& criterion_;
  Setting setting_;
  std::vector<CriterionCase> cases_;
  std::map<std::string, std::vector<bool>> controls_;  // which cases the correct kernels of a contract pass
};

}  // namespace softcheck::proptests

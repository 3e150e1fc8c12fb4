#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "judge/survivors/criterion.hpp"
#include "judge/survivors/zoo_kernel.hpp"

namespace softcheck::proptests {

/// A criterion's verdict on a kernel. `values`, and how a call ended, are the reasons for a rejection.
enum class CriterionVerdict : std::uint8_t { accepted, values, refused, crashed, timed_out, not_applicable };

const char* to_string(CriterionVerdict verdict);

/// Does the criterion apply to the kernel? It must have its op and dtype. A 16-bit criterion also applies to an f32
/// kernel whose symbol the zoo lacks in that dtype: through a 16-bit interface, with inputs on the 16-bit grid and
/// outputs rounded to it.
bool applies(const Criterion& criterion, const ZooKernel& kernel, const std::vector<ZooKernel>& zoo);

/// A criterion with the cases of one seed, applied to one kernel after the other.
class CriterionRun {
 public:
  struct Setting {
    const std::vector<ZooKernel>& zoo;
    std::filesystem::path folder;  // with the libraries
    std::uint64_t seed;
    double seconds_per_call;
  };

  /// The criterion and the zoo must outlive this object.
  CriterionRun(const Criterion& criterion, Setting setting);

  /// Does the kernel hang in an ordinary call? Then it hangs in all of them, and every criterion makes such calls, so
  /// the time limit needs to be spent only once.
  /// throws   KernelLoadError
  bool hangs(const ZooKernel& kernel) const;

  /// The criterion's verdict on the kernel, in a process of its own like a test program.
  ///
  /// A bug is planted in an otherwise correct kernel. If a correct kernel with the bug's op, dtype, contract and domain
  /// fails a case, too, the case does not count for the bug. The criterion does not apply to a correct kernel that
  /// refuses one of its calls, since the ABI allows refusals. A bug that refuses is rejected.
  ///
  /// throws   KernelLoadError
  CriterionVerdict verdict(const ZooKernel& kernel);

  std::size_t cases() const { return cases_.size(); }
  /// Largest number of cases that did not count for a bug.
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

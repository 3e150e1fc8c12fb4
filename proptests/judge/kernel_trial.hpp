#pragma once

#include <span>
#include <string>
#include <vector>

#include "proptests/generators/row.hpp"
#include "proptests/judge/kernel_call.hpp"
#include "proptests/judge/kernel_judge.hpp"
#include "proptests/judge/watched_kernel.hpp"

namespace softcheck::proptests {

/// One kernel on trial: turns a row into calls, and the replies into certificates.
class KernelTrial {
 public:
  KernelTrial(const KernelSubject& subject, const KernelLimits& limits);

  /// The row as the only one of a compact matrix that ends at a page nobody may touch, called after a decoy of the same
  /// shape, and again: results must not depend on earlier calls.
  Certificates alone(const RowCase& row_case);
  /// Among three to nine rows, each judged, in a layout that the row's size chooses: gaps, strides, offsets, NaN
  /// between.
  Certificates among_neighbours(const RowCase& row_case);
  /// Masked through the mask tensor, NaN and huge values behind it, against the row with -inf.
  Certificates behind_a_mask(const RowCase& row_case);
  /// All items masked: as logits of -inf in rows of even length, by the mask tensor in the others.
  Certificates fully_masked(const RowCase& row_case);
  /// One logit of the middle row NaN; the neighbours, judged as well, must not notice.
  Certificates with_a_nan(const RowCase& row_case);

  /// The claims on values that the op's rows are judged by.
  std::vector<std::string> value_claims() const;
  const VacuityCount& vacuity() const { return vacuity_; }
  WatchedKernel& watched() { return kernel_; }
  const WatchedKernel& watched() const { return kernel_; }

 private:
  KernelCall call_for(double theta, std::int64_t rows, std::vector<double> logits, const Layout& layout) const;
  /// Calls, and adds the certificates on how the call behaved; outputs empty unless it was done.
  std::vector<double> call(const KernelCall& call, const std::string& witness, Certificates& certificates);
  void judge(std::span<const double> logits, double theta, std::span<const double> got, const std::string& witness,
             Certificates& certificates);
  std::span<const double> row_of(std::span<const double> outputs, std::size_t row, std::size_t columns) const;

  KernelSubject subject_;
  WatchedKernel kernel_;
  VacuityCount vacuity_;
};

}  // namespace softcheck::proptests

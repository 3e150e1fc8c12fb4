#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "proptests/generators/row.hpp"
#include "proptests/judge/kernel_judge.hpp"

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

  bool exempts(const std::string& claim) const { return subject_.exempt.contains(claim); }
  /// The certificates of the other claims; what an exempt one is known for becomes a note.
  Certificates without_exempt(Certificates certificates);

  /// The claims on values that the op's rows are judged by.
  std::vector<std::string> value_claims() const;
  const VacuityCount& vacuity() const { return vacuity_; }
  const IsolatedKernel& kernel() const { return kernel_; }
  bool timed_out() const { return timed_out_; }
  std::vector<std::string> notes() const;

  /// How the call ended that a certificate of kernel.returns speaks of.
  static CallEnd end_of(const numerics::Certificate& certificate);

 private:
  struct Answers {
    std::size_t accepted = 0;
    std::size_t refused = 0;
  };
  KernelCall call_for(double theta, std::int64_t rows, std::vector<double> logits, const Layout& layout) const;
  /// Calls, and adds the certificates on how the call behaved; outputs empty unless it was done.
  std::vector<double> call(const KernelCall& call, const std::string& witness, Certificates& certificates);
  void judge(std::span<const double> logits, double theta, std::span<const double> got, const std::string& witness,
             Certificates& certificates);
  /// A note where the bits differ, and a certificate where they must not.
  void compare(std::span<const double> first, std::span<const double> second, bool required, const std::string& claim,
               const std::string& difference, const std::string& witness, Certificates& certificates);
  std::span<const double> row_of(std::span<const double> outputs, std::size_t row, std::size_t columns) const;

  KernelSubject subject_;
  IsolatedKernel kernel_;
  VacuityCount vacuity_;
  bool timed_out_ = false;
  std::set<std::string> notes_;
  std::map<std::string, Answers> answers_;  // by what was asked for
};

}  // namespace softcheck::proptests

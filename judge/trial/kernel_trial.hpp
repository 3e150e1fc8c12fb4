#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "judge/call/call_sizes.hpp"
#include "judge/call/refusals.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "judge/verdict/value_tally.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

/// One kernel of the softmax family on trial: turns rows into calls, and the replies into certificates.
class KernelTrial {
 public:
  KernelTrial(const KernelSubject& subject, const KernelLimits& limits);

  /// The row as the only one of a compact matrix that ends at a page without access. Calls the kernel after a decoy of
  /// the same shape, and again: results must not depend on earlier calls.
  Certificates alone(const RowCase& row_case);
  /// The same logits at another temperature, then other lengths at the same place, then the row itself: a kernel must
  /// not carry state from one call to the next. A call whose values are wrong by itself, too, ends the trial, and its
  /// certificates are those by itself.
  Certificates after_others(const RowCase& row_case);
  /// One call with every row judged; if the kernel refuses it, the first of its simpler_forms that the kernel accepts.
  Certificates together(const RowMatrixCase& matrix);
  /// together, and the last row alone: if the bits must not depend on neighbours, both must have the same.
  Certificates among_neighbours(const RowMatrixCase& matrix);
  /// together, one or two logits of the middle row +inf: each value of that row is NaN or the limit.
  Certificates with_an_infinity(const RowMatrixCase& matrix);
  /// together, with the output in the place of the logits.
  Certificates in_place(const RowMatrixCase& matrix);
  /// The same in the place of the upstream gradient.
  Certificates over_out_gradient(const RowMatrixCase& matrix);

  /// The classes of matrix_dimensions() that no call may have are left out of the coverage, with the reason.
  void leave_out(const std::vector<std::vector<bool>>& possible, const JudgeOptions& options);

  /// The claims on values that the op's rows are judged by.
  std::vector<std::string> value_claims() const;
  /// No claim on rows is about something that a kernel need not have.
  static bool is_not_offered(const std::string&) { return false; }
  const VacuityCount& vacuity() const { return vacuity_; }
  /// The first row with an infinite threshold; empty: there is none.
  const std::string& unbounded_row() const { return unbounded_row_; }
  const RefusalLog& refusals() const { return refusals_; }
  WatchedKernel& watched() { return kernel_; }
  const WatchedKernel& watched() const { return kernel_; }
  std::size_t judged_rows() const { return judged_rows_; }
  const std::map<std::string, ErrorStatistics>& errors() const { return errors_.errors(); }
  /// The classes of the judged calls.
  const Coverage& coverage() const { return coverage_; }
  /// Their largest sizes.
  const CallSizes& sizes() const { return sizes_; }
  /// The checks that this machine did not allow, as "what: why".
  const std::set<std::string>& not_tried() const { return not_tried_; }

 private:
  /// All values of the first row, then those of the next.
  using Outputs = std::optional<std::vector<double>>;

  /// Calls, and adds the certificates on how the call went; nothing unless it was done.
  Outputs call(const RowMatrixCase& matrix, const TensorCall& tensors, const std::string& remark,
               Certificates& certificates);
  Outputs call(const RowMatrixCase& matrix, const std::string& remark, Certificates& certificates);
  /// together, with the output in the place of that input.
  Certificates over_input(const RowMatrixCase& matrix, std::size_t input, const std::string& remark);
  /// A certificate of each claim on the values of all rows but one: of the row that used most of its threshold. Rows
  /// with a NaN are NaN, those with +inf each value NaN or the limit; a row that repeats another has its bits, or is
  /// judged by itself.
  void judge(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
             Certificates& certificates, std::optional<std::size_t> but = std::nullopt);
  /// The same of an op with one value for a call.
  void judge_call(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
                  Certificates& certificates);
  /// The same call where no earlier one can have a part in its results: the first of a process, or after another row of
  /// its shape.
  Certificates by_itself(const RowMatrixCase& matrix);
  /// Do the bits of a row follow from that row alone?
  bool rows_stand_alone() const { return !subject_.op->of_whole_calls; }
  bool is_ignored(const RowMatrixCase& matrix, std::size_t row) const;
  void judge_nan_rows(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
                      Certificates& certificates) const;
  void judge_infinite_rows(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
                           Certificates& certificates) const;
  /// Row number row, of these logits, of which some are +inf.
  void judge_infinite_row(const RowMatrixCase& matrix, std::size_t row, std::span<const double> logits,
                          const std::vector<double>& got, const std::string& remark, Certificates& certificates) const;
  /// Records the sizes of a judged call.
  void reach_sizes(const RowMatrixCase& matrix);
  /// Records the covered classes of matrix_dimensions(), or the reason for the others.
  void meet_classes(const RowMatrixCase& matrix, bool refused);
  bool in_domain(const RowMatrixCase& matrix) const;
  /// The classes that a drawn matrix loses where the kernel is not asked for what it always refused.
  void leave_out_refused(const RowMatrixCase& drawn, const RowMatrixCase& asked);
  /// The features of matrices that no accepted call had and many refused ones.
  unsigned never_taken() const;
  CallForm form() const;
  void note_output(const RowMatrixCase& matrix, const std::string& remark);
  CallFormats formats() const { return {subject_.contract.input, subject_.contract.output}; }
  /// Values of all outputs for a row of the matrix, and those of one row.
  std::size_t values_of_row(const RowMatrixCase& matrix) const;
  std::span<const double> row_of(const std::vector<double>& outputs, const RowMatrixCase& matrix,
                                 std::size_t row) const;
  /// Of the matrix that is called or judged now.
  InputsOfRows& inputs_of_rows(const RowMatrixCase& matrix);
  CallDescription describe_call(const RowMatrixCase& matrix, const std::string& remark, std::size_t row) const;

  KernelSubject subject_;
  WatchedKernel kernel_;
  std::optional<InputsOfRows> inputs_;
  VacuityCount vacuity_;
  std::string unbounded_row_;
  RefusalLog refusals_;
  struct FeatureAnswers {
    std::size_t taken = 0, refused = 0;
  };
  std::array<FeatureAnswers, matrix_features> answers_{};  // calls with each MatrixFeature
  std::size_t judged_rows_ = 0;
  std::size_t printed_bytes_ = 0;
  ErrorTally errors_;
  std::set<std::string> not_tried_;
  Coverage coverage_;
  CallSizes sizes_;
};

}  // namespace softcheck::proptests

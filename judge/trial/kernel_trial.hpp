#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "judge/call/refusals.hpp"
#include "judge/call/tensor_call.hpp"
#include "judge/ops/rows/matrix_features.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "judge/verdict/value_tally.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

/// A row kernel on trial: turns rows into calls, and replies into certificates.
class KernelTrial {
 public:
  KernelTrial(const KernelSubject& subject, const KernelLimits& limits);

  /// Calls the kernel with the row alone, in a compact matrix that ends at an inaccessible page, after a decoy of the
  /// same shape and then again: results must not depend on earlier calls.
  Certificates alone(const RowCase& row_case);
  /// Calls the same logits at another temperature, then other lengths at the same address, then the row itself: the
  /// kernel must not keep state between calls. A call that also fails when made by itself ends this check, and its
  /// certificates are those of that call.
  Certificates after_others(const RowCase& row_case);
  /// Judges every row of one call. If the kernel refuses it, takes the first of its simpler_forms that the kernel
  /// accepts.
  Certificates together(const RowMatrixCase& matrix);
  /// together(), and the last row alone: if required, both must have the same bits.
  Certificates among_neighbours(const RowMatrixCase& matrix);
  /// together() with one or two logits of the middle row at +inf: each of that row's values must be NaN or the limit.
  Certificates with_an_infinity(const RowMatrixCase& matrix);
  /// together() with the output in the memory of the logits.
  Certificates in_place(const RowMatrixCase& matrix);
  /// together() with the output in the memory of the upstream gradient.
  Certificates over_out_gradient(const RowMatrixCase& matrix);

  /// Excludes the classes of matrix_dimensions() that no call may have from the coverage, with the reason.
  void leave_out(const std::vector<std::vector<bool>>& possible, const JudgeOptions& options);

  /// The claims on values of the op's rows.
  std::vector<std::string> value_claims() const;
  /// Row kernels must offer all results.
  static bool is_not_offered(const std::string&) { return false; }
  const VacuityCount& vacuity() const { return vacuity_; }
  /// The first row with an infinite threshold; empty if there is none.
  const std::string& unbounded_row() const { return unbounded_row_; }
  const RefusalLog& refusals() const { return refusals_; }
  WatchedKernel& watched() { return kernel_; }
  const WatchedKernel& watched() const { return kernel_; }
  std::size_t judged_rows() const { return judged_rows_; }
  const std::map<std::string, ErrorStatistics>& errors() const { return errors_.errors(); }
  /// The classes of the judged calls.
  const Coverage& coverage() const { return coverage_; }
  /// The largest sizes of the judged calls.
  const CallSizes& sizes() const { return sizes_; }
  /// The checks that this machine did not allow, as "what: why".
  const std::set<std::string>& not_tried() const { return not_tried_; }

 private:
  /// The values row by row.
  using Outputs = std::optional<std::vector<double>>;

  /// Calls the kernel and adds the certificates on the call; nothing unless it was done.
  Outputs call(const RowMatrixCase& matrix, const TensorCall& tensors, const std::string& remark,
               Certificates& certificates);
  Outputs call(const RowMatrixCase& matrix, const std::string& remark, Certificates& certificates);
  /// together() with the output in the memory of that input.
  Certificates over_input(const RowMatrixCase& matrix, std::size_t input, const std::string& remark);
  /// Adds one certificate per claim on the values of all rows except `but`, for the row that used most of its
  /// threshold. Rows with a NaN must be NaN; values of rows with +inf must be NaN or the limit; a repeated row with the
  /// same bits is not judged again.
  void judge(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
             Certificates& certificates, std::optional<std::size_t> but = std::nullopt);
  /// The same for ops with one value per call.
  void judge_call(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
                  Certificates& certificates);
  /// The call made so that no earlier one can influence it: as the first of a process, or after another row of its
  /// shape.
  Certificates by_itself(const RowMatrixCase& matrix);
  /// Do the bits of a row depend on that row alone?
  bool rows_stand_alone() const { return !subject_.op->of_whole_calls; }
  // What is due where the row holds a NaN. A row of a loss that is ignored has 0; where upstream is 0 a kernel may skip
  // the row, or multiply.
  enum class NanRow { nan, ignored, nan_or_zero };
  NanRow nan_row(const RowMatrixCase& matrix, std::size_t row) const;
  void judge_nan_rows(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
                      Certificates& certificates) const;
  void judge_infinite_rows(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
                           Certificates& certificates) const;
  /// Judges one row whose logits include +inf.
  void judge_infinite_row(const RowMatrixCase& matrix, std::size_t row, std::span<const double> logits,
                          const std::vector<double>& got, const std::string& remark, Certificates& certificates) const;
  /// Records the sizes of a judged call.
  void reach_sizes(const RowMatrixCase& matrix);
  /// Records the classes of matrix_dimensions() that the call covers, or the refusal as the reason for missing ones.
  void meet_classes(const RowMatrixCase& matrix, bool refused);
  bool in_domain(const RowMatrixCase& matrix) const;
  /// Records the classes that a drawn matrix loses by leaving out the features that the kernel always refuses.
  void leave_out_refused(const RowMatrixCase& drawn, const RowMatrixCase& asked);
  /// The features that no accepted call had and many refused ones had.
  unsigned never_taken() const;
  CallForm form() const;
  void note_output(const RowMatrixCase& matrix, const std::string& remark);
  CallFormats formats() const { return {subject_.contract.input, subject_.contract.output}; }
  /// Number of values of all outputs per row of the matrix, and the values of one row.
  std::size_t values_of_row(const RowMatrixCase& matrix) const;
  std::span<const double> row_of(const std::vector<double>& outputs, const RowMatrixCase& matrix,
                                 std::size_t row) const;
  /// Cached for the current matrix.
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

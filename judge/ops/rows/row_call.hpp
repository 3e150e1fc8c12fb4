#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "judge/call/hidden_numbers.hpp"
#include "judge/call/tensor_call.hpp"
#include "judge/op/op.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// The dtypes of a call.
struct CallFormats {
  numerics::Format input;   // of all but the drawn rows (row_format) and integers
  numerics::Format output;  // of all outputs but values of whole rows beside others
};

/// The inputs of a call's rows, each made once for all rows that are alike: of 65,536 rows 105 differ.
class InputsOfRows {
 public:
  InputsOfRows(const RowMatrixCase& matrix, Op op, numerics::Format input);
  bool are_of(const RowMatrixCase& matrix) const;
  /// As inputs_of has them.
  const std::vector<std::vector<double>>& at(std::size_t row);

 private:
  RowCycle rows_;
  std::uint64_t auxiliary_;
  Op op_;
  numerics::Format input_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::vector<std::vector<double>>> known_;
};

/// The call that passes a matrix of logits to a kernel. Masked items hold NaN, infinities and the largest numbers, as
/// an unwritten cache may. Any nonzero byte marks a visible item.
TensorCall call_of(const RowMatrixCase& matrix, Op op, const CallFormats& formats, const CallForm& form = {});
/// The same, with inputs that the judge reads afterwards.
TensorCall call_of(const RowMatrixCase& matrix, Op op, const CallFormats& formats, const CallForm& form,
                   InputsOfRows& inputs);
/// The rows of a call of the op.
InputTensor& drawn_rows(TensorCall& call, Op op);

/// The input in which a row's NaN or +inf stands: the first, or of every second row the second, where that has as many
/// numbers.
std::size_t special_input(const RowMatrixCase& matrix, Op op, std::size_t row);

/// All rows of the call, NaNs in their places; the matrix and the contract outlive it.
CallOfRows rows_of_call(const RowMatrixCase& matrix, Op op, const numerics::Contract& contract);

/// The values of all outputs, those of each row side by side.
std::vector<double> by_row(const std::vector<std::vector<double>>& outputs, std::size_t rows);

/// The values of all inputs of the op for one row, the first input's first.
///
/// input    the format of those beside the row
std::vector<std::vector<double>> inputs_of(const RowMatrixCase& matrix, Op op, numerics::Format input, std::size_t row);

/// Is the op a loss or its gradient, which have attributes?
bool has_labels(Op op);

/// Which input of an op of rows is the upstream gradient, item by item; nothing where none is.
std::optional<std::size_t> out_gradient_of(Op op);

/// What of the matrix's call a domain speaks of, the op's attributes included.
CallTraits traits_of(const RowMatrixCase& matrix, Op op);

/// The features of a matrix beyond visible, contiguous numbers at theta 1; one bit each.
enum MatrixFeature : unsigned {
  some_nans = 1,
  a_mask = 2,
  infinities = 4,  // logits of -inf
  column_strides = 8,
  gaps = 16,  // between rows, or offsets
  a_theta = 32,
  plus_infinities = 64
};
inline constexpr std::size_t matrix_features = 7;

/// Those that the matrix has.
unsigned features_of(const RowMatrixCase& matrix);
/// Nearly the same rows without some of them: -inf for what a mask hides, the lowest logit for -inf, x / theta rounded
/// to the format.
RowMatrixCase without(RowMatrixCase matrix, unsigned features);
/// Without all of them, and nothing hidden.
RowMatrixCase plain_form(const RowMatrixCase& matrix);
/// Some of the matrix's features, first one, then two and so on, to leave out for a kernel that refuses the matrix.
std::vector<unsigned> simpler_forms(const RowMatrixCase& matrix);

/// The kind of a call, by which refusals are counted: "with a mask".
CallKind kind_of(const RowMatrixCase& matrix);

}  // namespace softcheck::proptests

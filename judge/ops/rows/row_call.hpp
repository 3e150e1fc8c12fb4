#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "judge/op/op.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// The parameters of a call that its matrix does not hold.
struct CallForm {
  std::optional<std::size_t> in_place_of = {};  // the output shares this input's memory, and matrix.out is unused
  std::size_t alignment = 1;                    // of every tensor's first element, in bytes
  bool finite = false;                          // masked items hold the largest finite numbers only
};

/// How a call hides its items of -inf. The items are counted row by row. The mask hides all of them, or every second
/// one; behind the mask the call holds a NaN, an infinity or a largest number.
class Hiding {
 public:
  Hiding(const RowMatrixCase& matrix, const CallForm& form);

  /// hidden   number of the hidden item, counted from 1
  bool by_mask(std::size_t hidden) const {
    return mask_ == MaskUse::tensor || (mask_ == MaskUse::mixed && hidden % 2 == 1);
  }
  double number(std::size_t hidden) const { return numbers_[hidden % numbers_.size()]; }

 private:
  MaskUse mask_;
  std::array<double, 4> numbers_{};
};

/// A number behind the call's mask.
struct HiddenNumber {
  std::size_t item;
  double value;
};
/// The hidden numbers of one row, in the order of its items, as call_of writes them.
std::vector<HiddenNumber> hidden_numbers(const RowMatrixCase& matrix, std::size_t row, const CallForm& form);

/// The dtypes of a call.
struct CallFormats {
  numerics::Format input;   // of all inputs except the drawn rows (row_format) and integers
  numerics::Format output;  // of all outputs except values of whole rows next to other outputs
};

/// The inputs of a call's rows, computed once for equal rows: of 65,536 rows 105 differ.
class InputsOfRows {
 public:
  InputsOfRows(const RowMatrixCase& matrix, Op op, numerics::Format input);
  bool are_of(const RowMatrixCase& matrix) const;
  /// Equal to inputs_of for this row.
  const std::vector<std::vector<double>>& at(std::size_t row);

 private:
  RowCycle rows_;
  std::uint64_t auxiliary_;
  Op op_;
  numerics::Format input_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::vector<std::vector<double>>> known_;
};

/// The call that passes a matrix of logits to a kernel. Masked items hold NaN, infinities and the largest numbers, like
/// an uninitialized cache. Any nonzero byte marks a visible item.
TensorCall call_of(const RowMatrixCase& matrix, Op op, const CallFormats& formats, const CallForm& form = {});
/// The same; the judge reads these inputs later.
TensorCall call_of(const RowMatrixCase& matrix, Op op, const CallFormats& formats, const CallForm& form,
                   InputsOfRows& inputs);
/// The call's input that holds the drawn rows.
InputTensor& drawn_rows(TensorCall& call, Op op);

/// The input that holds a row's NaN or +inf: the first; for every second row the second, if that has as many numbers.
std::size_t special_input(const RowMatrixCase& matrix, Op op, std::size_t row);

/// All rows of the call, including NaNs. The matrix and the contract must outlive it.
CallOfRows rows_of_call(const RowMatrixCase& matrix, Op op, const numerics::Contract& contract);

/// The values of all outputs, row by row.
std::vector<double> by_row(const std::vector<std::vector<double>>& outputs, std::size_t rows);

/// The values of all inputs of one row, the first input's first.
///
/// input    format of the inputs other than the drawn row
std::vector<std::vector<double>> inputs_of(const RowMatrixCase& matrix, Op op, numerics::Format input, std::size_t row);

/// Is the op a loss or the gradient of one? These have attributes.
bool has_labels(Op op);
/// Is it a loss of labels or targets, or its gradient?
bool is_loss(Op op);
/// Is it a divergence from a teacher's logits, or its gradient?
bool is_divergence(Op op);

/// The index of the input that is the upstream gradient per item; nothing if there is none.
std::optional<std::size_t> out_gradient_of(Op op);

/// The traits of the matrix's call that a domain can restrict, including the op's attributes.
CallTraits traits_of(const RowMatrixCase& matrix, Op op);

}  // namespace softcheck::proptests

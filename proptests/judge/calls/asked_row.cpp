#include "proptests/judge/calls/asked_row.hpp"

#include <algorithm>
#include <vector>

#include "proptests/generators/rows/row.hpp"
#include "proptests/judge/calls/row_call.hpp"
#include "proptests/judge/ops/row_op.hpp"

namespace softcheck::proptests {
namespace {

std::string in_row(std::size_t row, std::size_t rows) {
  return " row " + std::to_string(row) + " of " + std::to_string(rows);
}

// ", label_smoothing 0x1.999999999999ap-4, ignore_index -100": attributes that are on, and ignore_index of labels.
std::string attributes_text(const RowMatrixCase& matrix, Op op) {
  const Attributes attributes = op.rows().attributes(matrix.beside, matrix.columns);
  std::string text = attributes.lse_base2 ? ", lse_base2" : "";
  if (attributes.k != 0) text += ", k " + std::to_string(attributes.k);
  if (attributes.renormalize) text += ", renormalize";
  if (attributes.top_p != 0) text += ", top_p " + numerics::hex_float(attributes.top_p);
  if (attributes.min_p != 0) text += ", min_p " + numerics::hex_float(attributes.min_p);
  if (op->of_whole_calls) text += attributes.mean ? ", mean" : ", sum";
  if (!has_labels(op)) return text;
  if (attributes.label_smoothing != 0) text += ", label_smoothing " + numerics::hex_float(attributes.label_smoothing);
  if (attributes.z_loss != 0) text += ", z_loss " + numerics::hex_float(attributes.z_loss);
  if (attributes.softcap != 0) text += ", softcap " + numerics::hex_float(attributes.softcap);
  return text + ", ignore_index " + std::to_string(attributes.ignore_index);
}

std::string inputs_text(const RowMatrixCase& matrix, Op op, numerics::Format input, std::size_t row) {
  constexpr std::size_t shown = 8;
  if (op->number == 0 || matrix.columns > shown) return "";
  if (matrix.columns * op.rows().width(matrix.columns, matrix.beside) > 4 * shown) return "";
  std::vector<std::vector<double>> inputs = inputs_of(matrix, op, input, row);
  for (const SpecialLogit& one : matrix.specials) {
    if (one.row == row) inputs[special_input(matrix, op, row)][one.item] = numerics::decode(matrix.format, one.bits);
  }
  std::string text;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!op.rows().has_input(k, matrix.beside)) continue;
    text += (k == 0 ? " (" : ", ") + std::string(to_string(op->inputs[k].role));
    for (const double value : inputs[k]) text += " " + numerics::hex_float(value);
  }
  return text + attributes_text(matrix, op) + ")";
}

// " (behind the mask: item 0 nan, item 2 -0x1.fffffep+127 and 3 more)": a row's text has -inf there.
std::string hidden_text(const RowMatrixCase& matrix, std::size_t row, const CallForm& form) {
  constexpr std::size_t shown = 4;
  const std::vector<HiddenNumber> hidden = hidden_numbers(matrix, row, form);
  std::string text;
  for (std::size_t k = 0; k < std::min(shown, hidden.size()); ++k) {
    text += (k == 0 ? " (behind the mask: item " : ", item ") + std::to_string(hidden[k].item) + " " +
            numerics::hex_float(hidden[k].value);
  }
  if (hidden.size() > shown) text += " and " + std::to_string(hidden.size() - shown) + " more";
  return text.empty() ? text : text + ")";
}

}  // namespace

std::string text_of(const RowMatrixCase& matrix) {
  const bool plain = matrix.rows.size() == 1 && matrix.specials.empty() && matrix.mask == MaskUse::none &&
                     matrix.in == MatrixLayout{} && matrix.out == MatrixLayout{} && matrix.visible == MatrixLayout{};
  return plain ? to_text(case_of(matrix, 0)) : to_text(matrix);
}

Asked asked_of(const RowMatrixCase& matrix, Op op, numerics::Format input, const std::string& remark, std::size_t row,
               const CallForm& form) {
  const std::size_t rows = matrix.rows.size();
  return {text_of(matrix), remark + inputs_text(matrix, op, input, row) + hidden_text(matrix, row, form), row,
          rows == 1 ? "" : in_row(row, rows), to_text(case_of(matrix, row))};
}

}  // namespace softcheck::proptests

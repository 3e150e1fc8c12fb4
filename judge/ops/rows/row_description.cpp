#include "judge/ops/rows/row_description.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "judge/ops/rows/row_call.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {
namespace {

std::string in_row(std::size_t row, std::size_t rows) {
  return " row " + std::to_string(row) + " of " + std::to_string(rows);
}

// ", label_smoothing 0x1.999999999999ap-4, ignore_index -100": the attributes that are on; ops with labels always show
// ignore_index.
std::string attributes_text(const RowMatrixCase& matrix, Op op) {
  const Attributes attributes = op.rows().attributes(matrix.auxiliary, matrix.columns);
  std::string text = attributes.lse_base2 ? ", lse_base2" : "";
  if (attributes.k != 0) text += ", k " + std::to_string(attributes.k);
  if (attributes.renormalize) text += ", renormalize";
  if (attributes.sigmoid) text += ", sigmoid";
  if (attributes.groups != 0) {
    text += ", groups " + std::to_string(attributes.groups) + ", groups_kept " +
            std::to_string(attributes.groups_kept) + ", group_items " + std::to_string(attributes.group_items);
  }
  if (attributes.routed_scale != 0) text += ", routed_scale " + numerics::hex_float(attributes.routed_scale);
  if (attributes.top_p != 0) text += ", top_p " + numerics::hex_float(attributes.top_p);
  if (attributes.min_p != 0) text += ", min_p " + numerics::hex_float(attributes.min_p);
  if (op->of_whole_calls) text += attributes.mean ? ", mean" : ", sum";
  if (attributes.reverse) text += ", reverse";
  if (!is_loss(op)) return text;
  if (attributes.label_smoothing != 0) text += ", label_smoothing " + numerics::hex_float(attributes.label_smoothing);
  if (attributes.z_loss != 0) text += ", z_loss " + numerics::hex_float(attributes.z_loss);
  if (attributes.softcap != 0) text += ", softcap " + numerics::hex_float(attributes.softcap);
  return has_labels(op) ? text + ", ignore_index " + std::to_string(attributes.ignore_index) : text;
}

constexpr std::size_t reported_items = 8, reported_rows = 4;

// " 0x1p-1 0x0p+0 ..., of 300": the first numbers and how many there are; ids print as integers.
std::string numbers_text(const std::vector<double>& numbers, bool is_index) {
  const std::size_t shown = numbers.size() <= 4 * reported_items ? numbers.size() : reported_items;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    text += ' ' + (is_index ? std::to_string(static_cast<std::int64_t>(numbers[i])) : numerics::hex_float(numbers[i]));
  }
  return numbers.size() == shown ? text : text + " ..., of " + std::to_string(numbers.size());
}

// "logits 0x1p+0 0x0p+0, labels 1, upstream 0x1p+0"; without the logits of a longer row, which its text has.
std::string inputs_text(const RowMatrixCase& matrix, Op op, numerics::Format input, std::size_t row) {
  std::vector<std::vector<double>> inputs = inputs_of(matrix, op, input, row);
  for (const SpecialLogit& one : matrix.specials) {
    if (one.row == row) inputs[special_input(matrix, op, row)][one.item] = numerics::decode(matrix.format, one.bits);
  }
  std::string text;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!op.rows().has_input(k, matrix.auxiliary) || (k == 0 && inputs[0].size() > reported_items)) continue;
    const OpInput& of = op->inputs[k];
    text += (text.empty() ? "" : ", ") + std::string(to_string(of.role)) + numbers_text(inputs[k], of.is_index);
  }
  return text;
}

// " (saved 0x1p-1, out_gradient 0x1p+0, lse_base2)"; empty for ops of logits alone.
std::string in_parentheses(std::string inputs, const RowMatrixCase& matrix, Op op) {
  if (op->number == 0) return "";
  inputs += attributes_text(matrix, op);
  if (inputs.starts_with(", ")) inputs.erase(0, 2);
  return inputs.empty() ? "" : " (" + inputs + ")";
}

// " (behind the mask: item 0 nan, item 2 -0x1.fffffep+127 and 3 more)": the row's text has -inf for these items.
std::string hidden_text(const std::vector<HiddenNumber>& hidden) {
  constexpr std::size_t shown = 4;
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

std::string words_of_row(const RowMatrixCase& matrix, Op op, numerics::Format input, std::size_t row) {
  return op->number == 0 ? "" : in_parentheses(inputs_text(matrix, op, input, row), matrix, op);
}

CallDescription describe_call(const RowMatrixCase& matrix, Op op, numerics::Format input, const std::string& remark,
                              std::size_t row, const CallForm& form) {
  const std::size_t rows = matrix.rows.size();
  const std::vector<HiddenNumber> hidden = hidden_numbers(matrix, row, form);
  CallDescription asked{text_of(matrix), remark + words_of_row(matrix, op, input, row) + hidden_text(hidden), row,
                        rows == 1 ? "" : in_row(row, rows), to_text(case_of(matrix, row))};
  asked.hides_nan = std::ranges::any_of(hidden, [](const HiddenNumber& one) { return std::isnan(one.value); });
  return asked;
}

CallDescription describe_whole_call(const RowMatrixCase& matrix, Op op, numerics::Format input,
                                    const std::string& remark) {
  const std::size_t rows = matrix.rows.size();
  std::string inputs;
  for (std::size_t r = 0; r < std::min(rows, reported_rows); ++r) {
    const std::string place = rows == 1 ? "" : (r == 0 ? "row " : "; row ") + std::to_string(r) + ": ";
    inputs += place + inputs_text(matrix, op, input, r);
  }
  if (rows > reported_rows) inputs += "; and " + std::to_string(rows - reported_rows) + " rows more";
  CallDescription asked{text_of(matrix), remark + in_parentheses(inputs, matrix, op)};
  if (rows == 1) asked.row_text = to_text(case_of(matrix, 0));
  return asked;
}

}  // namespace softcheck::proptests

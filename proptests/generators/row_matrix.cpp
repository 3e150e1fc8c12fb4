#include "proptests/generators/row_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>

#include "numerics/certificate.hpp"
#include "proptests/generators/case_text.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::int64_t most_stride = std::int64_t{1} << 40;

const char* word_of(MaskUse mask) {
  return mask == MaskUse::none ? "none" : mask == MaskUse::tensor ? "tensor" : "mixed";
}

MaskUse parse_mask_use(std::string_view word) {
  for (const MaskUse mask : {MaskUse::none, MaskUse::tensor, MaskUse::mixed}) {
    if (word == word_of(mask)) return mask;
  }
  throw std::invalid_argument("matrix case: need mask=none, tensor or mixed, got mask=" + std::string(word));
}

std::string word_of(const MatrixLayout& layout) {
  return std::to_string(layout.row_stride) + "," + std::to_string(layout.column_stride) + "," +
         std::to_string(layout.offset) + "," + (layout.against_the_end ? "end" : "front");
}

MatrixLayout parse_layout(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;; rest.remove_prefix(parts.back().size() + 1)) {
    parts.push_back(rest.substr(0, rest.find(',')));
    if (parts.back().size() == rest.size()) break;
  }
  if (parts.size() != 4 || (parts[3] != "end" && parts[3] != "front")) {
    throw std::invalid_argument("matrix case: need ROW_STRIDE,COLUMN_STRIDE,OFFSET,end|front, got " +
                                std::string(text));
  }
  const auto number = [&](std::size_t i) { return static_cast<std::int64_t>(parse_count(parts[i], 0, most_stride)); };
  return {number(0), number(1), number(2), parts[3] == "end"};
}

// No two elements at one place: one of the strides steps over all that the other one reaches.
bool keeps_apart(const MatrixLayout& layout, std::int64_t rows, std::int64_t columns) {
  if (layout.offset < 0 || layout.offset > most_stride) return false;
  if (layout.compact()) return true;
  if (layout.row_stride < 1 || layout.column_stride < 1) return false;
  if (layout.row_stride > most_stride || layout.column_stride > most_stride) return false;
  return rows <= 1 || columns <= 1 || layout.row_stride > (columns - 1) * layout.column_stride ||
         layout.column_stride > (rows - 1) * layout.row_stride;
}

}  // namespace

bool admits(const RowMatrixOptions& options, const RowMatrixCase& matrix) {
  if (matrix.rows.size() < options.least_rows || matrix.rows.size() > options.most_rows) return false;
  const auto rows = static_cast<std::int64_t>(matrix.rows.size());
  const auto columns = static_cast<std::int64_t>(matrix.columns);
  for (const MatrixLayout& layout : {matrix.in, matrix.out, matrix.visible}) {
    if (!keeps_apart(layout, rows, columns)) return false;
  }
  return std::ranges::all_of(matrix.rows, [&](const RunLengthRow& row) {
    return row.size() == matrix.columns && admits(options.rows, RowCase{row, matrix.theta, matrix.format, ""});
  });
}

std::string to_text(const RowMatrixCase& matrix) {
  std::string text = "matrix " + std::string(numerics::properties(matrix.format).name) +
                     " columns=" + std::to_string(matrix.columns) + " theta=" + numerics::hex_float(matrix.theta) +
                     " mask=" + word_of(matrix.mask);
  const auto add = [&](const char* name, const MatrixLayout& layout) {
    if (layout != MatrixLayout{}) text += std::string(" ") + name + "=" + word_of(layout);
  };
  add("in", matrix.in);
  add("out", matrix.out);
  add("visible", matrix.visible);
  for (const RunLengthRow& row : matrix.rows) text += " ;" + runs_text(row);
  return text;
}

void from_text(std::string_view text, RowMatrixCase& matrix) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < 5 || words[0] != "matrix") {
    throw std::invalid_argument(
        "matrix case: need \"matrix FORMAT columns=N theta=T mask=M ; VALUE*COUNT ... ; ...\", got \"" +
        std::string(text) + "\"");
  }
  RowMatrixCase result;
  result.format = numerics::parse_format(words[1]);
  result.columns = parse_count(value_of(words[2], "columns"), 0, std::uint64_t{1} << 30);
  result.theta = parse_theta(words[3]);
  result.mask = parse_mask_use(value_of(words[4], "mask"));
  result.family = "text";
  std::size_t i = 5;
  for (; i < words.size() && words[i] != ";"; ++i) {
    const std::string_view name = words[i].substr(0, words[i].find('='));
    MatrixLayout* const layout = name == "in"        ? &result.in
                                 : name == "out"     ? &result.out
                                 : name == "visible" ? &result.visible
                                                     : nullptr;
    if (layout == nullptr)
      throw std::invalid_argument("matrix case: need in=, out= or visible=, got " + std::string(words[i]));
    *layout = parse_layout(value_of(words[i], name));
  }
  while (i < words.size()) {
    const std::size_t begin = ++i;
    while (i < words.size() && words[i] != ";") ++i;
    result.rows.push_back(parse_runs(std::span(words).subspan(begin, i - begin), result.format));
    if (result.rows.back().size() != result.columns) {
      throw std::invalid_argument("matrix case: need " + std::to_string(result.columns) + " logits in each row, got " +
                                  std::to_string(result.rows.back().size()));
    }
  }
  matrix = std::move(result);
}

std::size_t size_of(const RowMatrixCase& matrix) { return matrix.rows.size() * matrix.columns; }

void showValue(const RowMatrixCase& matrix, std::ostream& stream) { stream << to_text(matrix); }

}  // namespace softcheck::proptests

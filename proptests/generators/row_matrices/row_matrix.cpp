#include "proptests/generators/row_matrices/row_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <ostream>
#include <stdexcept>

#include "numerics/enclosures/certificate.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::uint64_t most_rows = std::uint64_t{1} << 24;
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

// Elements do not overlap: one of the strides exceeds the whole range of the other.
bool keeps_apart(const MatrixLayout& layout, std::int64_t rows, std::int64_t columns) {
  if (layout.offset < 0 || layout.offset > most_stride) return false;
  if (layout.compact()) return true;
  if (layout.row_stride < 1 || layout.column_stride < 1) return false;
  if (layout.row_stride > most_stride || layout.column_stride > most_stride) return false;
  return rows <= 1 || columns <= 1 || layout.row_stride > (columns - 1) * layout.column_stride ||
         layout.column_stride > (rows - 1) * layout.row_stride;
}

// "ROW,ITEM"
SpecialLogit parse_infinity(std::string_view text, numerics::Format format) {
  if (!numerics::properties(format).has_infinity) {
    throw std::invalid_argument("matrix case: need a format with an infinity for inf=, got " +
                                std::string(numerics::properties(format).name));
  }
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) {
    throw std::invalid_argument("matrix case: need inf=ROW,ITEM, got inf=" + std::string(text));
  }
  return {parse_count(text.substr(0, comma), 0, most_rows - 1), parse_count(text.substr(comma + 1)),
          numerics::encode(format, numerics::infinity)};
}

// "ROW,ITEM,BITS"
SpecialLogit parse_nan(std::string_view text, numerics::Format format) {
  const std::size_t first = text.find(','), second = first == text.npos ? text.npos : text.find(',', first + 1);
  if (second == std::string_view::npos) {
    throw std::invalid_argument("matrix case: need nan=ROW,ITEM,BITS, got nan=" + std::string(text));
  }
  const int width = numerics::properties(format).storage_bits;
  const std::uint64_t all_bits = width == 64 ? UINT64_MAX : (std::uint64_t{1} << width) - 1;
  const SpecialLogit nan{parse_count(text.substr(0, first), 0, most_rows - 1),
                         parse_count(text.substr(first + 1, second - first - 1)),
                         parse_count(text.substr(second + 1), 0, all_bits)};
  if (!std::isnan(numerics::decode(format, nan.bits))) {
    throw std::invalid_argument("matrix case: need the bits of a NaN of " +
                                std::string(numerics::properties(format).name) + ", got nan=" + std::string(text));
  }
  return nan;
}

// Specials replace visible logits and are in ascending order.
bool specials_fit(const RowMatrixCase& matrix) {
  const SpecialLogit* before = nullptr;
  for (const SpecialLogit& one : matrix.specials) {
    const bool ascends =
        before == nullptr || before->row < one.row || (before->row == one.row && before->item < one.item);
    if (!ascends || one.row >= matrix.rows.size() || one.item >= matrix.columns) return false;
    std::uint64_t end = 0;
    for (const Run& run : matrix.rows[one.row].runs()) {
      end += run.count;
      if (one.item < end) {
        if (!std::isfinite(run.value)) return false;
        break;
      }
    }
    before = &one;
  }
  return true;
}

bool hides(const RunLengthRow& row) { return row.visible() < row.size(); }

}  // namespace

bool is_special(const RowMatrixCase& matrix, std::size_t row) {
  const auto found = std::ranges::lower_bound(matrix.specials, row, {}, &SpecialLogit::row);
  return found != matrix.specials.end() && found->row == row;
}

RowMatrixCase matrix_of(const RowCase& row_case) {
  RowMatrixCase matrix;
  matrix.rows = {row_case.row};
  matrix.columns = row_case.row.size();
  matrix.theta = row_case.theta;
  matrix.format = row_case.format;
  matrix.family = row_case.family;
  matrix.auxiliary = row_case.auxiliary;
  return matrix;
}

RowCase case_of(const RowMatrixCase& matrix, std::size_t row) {
  return {matrix.rows[row], matrix.theta, matrix.format, "", auxiliary_of_row(matrix.auxiliary, row)};
}

CallTraits traits_of(const RowMatrixCase& matrix) {
  CallTraits traits;
  traits.lengths = {{"n", matrix.columns}, {"rows", matrix.rows.size()}};
  traits.theta = matrix.theta;
  traits.alignment = std::numeric_limits<std::uint64_t>::max();
  traits.compact = true;
  for (const MatrixLayout* layout : {&matrix.in, &matrix.out, &matrix.visible}) {
    const auto width = static_cast<std::int64_t>(matrix.columns);
    const bool rows_touch = layout->row_stride == width, columns_touch = layout->column_stride == 1;
    traits.compact &= layout->compact() || (rows_touch && columns_touch);
    traits.side_by_side &=
        layout->compact() || ((rows_touch || matrix.rows.size() < 2) && (columns_touch || matrix.columns < 2));
    traits.offset |= layout->offset > 0;
    traits.contiguous &= layout->compact() || layout->column_stride == 1 || matrix.columns < 2;
  }
  traits.masked = matrix.mask != MaskUse::none;
  for (const RunLengthRow& row : matrix.rows.cycle()) {
    traits.blind |= row.visible() == 0;
    if (row.visible() == 0) continue;
    traits.logits =
        std::max({traits.logits, std::fabs(row.maximum()) / traits.theta, std::fabs(row.minimum()) / traits.theta});
    traits.spread = std::max(traits.spread, row.spread() / traits.theta);
  }
  // The caller chooses the numbers behind a mask, but not the logits of -inf.
  const bool infinite = matrix.mask != MaskUse::tensor && std::ranges::any_of(matrix.rows.cycle(), hides);
  traits.finite = matrix.specials.empty() && !infinite;
  traits.infinite = infinite || std::ranges::any_of(matrix.specials, [&](const SpecialLogit& one) {
                      return is_infinite(one, matrix.format);
                    });
  if (std::ranges::any_of(matrix.specials, [&](const SpecialLogit& one) { return is_infinite(one, matrix.format); })) {
    traits.logits = numerics::infinity;
  }
  return traits;
}

bool admits(const RowMatrixOptions& options, const RowMatrixCase& matrix) {
  if (matrix.rows.size() < options.least_rows || matrix.rows.size() > options.most_rows) return false;
  if (size_of(matrix) > options.max_elements || !specials_fit(matrix)) return false;
  if (!admits_auxiliary(options.rows, matrix.auxiliary)) return false;
  for (const SpecialLogit& one : matrix.specials) {
    if (!(is_infinite(one, matrix.format) ? options.infinities : options.nans)) return false;
  }
  if (!options.rows.domain.admits(traits_of(matrix))) return false;
  const auto rows = static_cast<std::int64_t>(matrix.rows.size());
  const auto columns = static_cast<std::int64_t>(matrix.columns);
  for (const MatrixLayout& layout : {matrix.in, matrix.out, matrix.visible}) {
    if (!keeps_apart(layout, rows, columns)) return false;
  }
  // A row may hide items by the mask even if the domain allows no infinite logit.
  RowOptions of_rows = options.rows;
  of_rows.domain = {};
  of_rows.auxiliaries_set = 0;  // the matrix has the bits that its rows share
  return std::ranges::all_of(matrix.rows.cycle(), [&](const RunLengthRow& row) {
    return row.size() == matrix.columns && admits(of_rows, RowCase{row, matrix.theta, matrix.format, ""});
  });
}

bool is_infinite(const SpecialLogit& logit, numerics::Format format) {
  return numerics::properties(format).has_infinity && logit.bits == numerics::encode(format, numerics::infinity);
}

std::string to_text(const RowMatrixCase& matrix) {
  std::string text = "matrix " + std::string(numerics::properties(matrix.format).name) +
                     " columns=" + std::to_string(matrix.columns) + " theta=" + numerics::hex_float(matrix.theta) +
                     " mask=" + word_of(matrix.mask);
  const auto add = [&](const char* name, const MatrixLayout& layout) {
    if (layout != MatrixLayout{}) text += std::string(" ") + name + "=" + word_of(layout);
  };
  text += auxiliary_text(matrix.auxiliary);
  add("in", matrix.in);
  add("out", matrix.out);
  add("visible", matrix.visible);
  if (matrix.rows.repeats()) text += " rows=" + std::to_string(matrix.rows.size());
  for (const SpecialLogit& one : matrix.specials) {
    if (is_infinite(one, matrix.format)) {
      text += " inf=" + std::to_string(one.row) + "," + std::to_string(one.item);
      continue;
    }
    char bits[24];
    std::snprintf(bits, sizeof bits, "0x%llx", static_cast<unsigned long long>(one.bits));
    text += " nan=" + std::to_string(one.row) + "," + std::to_string(one.item) + "," + bits;
  }
  for (const RunLengthRow& row : matrix.rows.cycle()) text += " ;" + runs_text(row);
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
  std::optional<std::uint64_t> count;
  for (; i < words.size() && words[i] != ";"; ++i) {
    const std::string_view name = words[i].substr(0, words[i].find('='));
    if (name == "rows") {
      count = parse_count(value_of(words[i], name), 1, most_rows);
      continue;
    }
    if (name == "beside") {
      result.auxiliary = parse_auxiliary(words[i]);
      continue;
    }
    if (name == "nan") {
      result.specials.push_back(parse_nan(value_of(words[i], name), result.format));
      continue;
    }
    if (name == "inf") {
      result.specials.push_back(parse_infinity(value_of(words[i], name), result.format));
      continue;
    }
    MatrixLayout* const layout = name == "in"        ? &result.in
                                 : name == "out"     ? &result.out
                                 : name == "visible" ? &result.visible
                                                     : nullptr;
    if (layout == nullptr)
      throw std::invalid_argument("matrix case: need beside=, in=, out=, visible=, rows=, nan= or inf=, got " +
                                  std::string(words[i]));
    *layout = parse_layout(value_of(words[i], name));
  }
  std::vector<RunLengthRow> rows;
  while (i < words.size()) {
    const std::size_t begin = ++i;
    while (i < words.size() && words[i] != ";") ++i;
    rows.push_back(parse_runs(std::span(words).subspan(begin, i - begin), result.format));
    if (rows.back().size() != result.columns) {
      throw std::invalid_argument("matrix case: need " + std::to_string(result.columns) + " logits in each row, got " +
                                  std::to_string(rows.back().size()));
    }
  }
  if (count && *count < rows.size()) {
    throw std::invalid_argument("matrix case: need rows= of at least the " + std::to_string(rows.size()) +
                                " rows that follow, got rows=" + std::to_string(*count));
  }
  const std::uint64_t size = count.value_or(rows.size());
  result.rows = RowCycle(std::move(rows), size);
  if (!specials_fit(result)) {
    throw std::invalid_argument("matrix case: need each nan= and inf= of a visible logit, in ascending order, got " +
                                std::string(text.substr(0, 120)));
  }
  matrix = std::move(result);
}

std::size_t size_of(const RowMatrixCase& matrix) { return matrix.rows.size() * matrix.columns; }

void showValue(const RowMatrixCase& matrix, std::ostream& stream) { stream << to_text(matrix); }

}  // namespace softcheck::proptests

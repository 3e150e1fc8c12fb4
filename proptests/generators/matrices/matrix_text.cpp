#include "proptests/generators/matrices/matrix_text.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "numerics/enclosures/certificate.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {

Matrix parse_shape(std::string_view word) {
  const std::size_t cross = word.find('x');
  if (cross == std::string_view::npos) {
    throw std::invalid_argument("matrix case: need a shape such as 2x3, got \"" + std::string(word) + "\"");
  }
  Matrix matrix;
  matrix.rows = parse_count(word.substr(0, cross), 1, 1 << 16);
  matrix.cols = parse_count(word.substr(cross + 1), 1, 1 << 16);
  return matrix;
}

double parse_entry(std::string_view word) {
  const double value = parse_number(word);
  if (!std::isfinite(value))
    throw std::invalid_argument("matrix case: entries must be finite, got " + std::string(word));
  return value;
}

void require_full(const Matrix& matrix) {
  if (matrix.entries.size() != matrix.rows * matrix.cols) {
    throw std::invalid_argument("matrix case: need " + std::to_string(matrix.rows * matrix.cols) + " entries, got " +
                                std::to_string(matrix.entries.size()));
  }
}

std::string shape_text(const Matrix& matrix) { return std::to_string(matrix.rows) + "x" + std::to_string(matrix.cols); }

Matrix parse_block(std::string_view word, std::string_view key) {
  std::string_view rest = value_of(word, key);
  const std::size_t colon = rest.find(':');
  Matrix matrix = parse_shape(rest.substr(0, colon));
  while (colon != std::string_view::npos) {
    rest.remove_prefix(std::min(rest.find_first_of(":,") + 1, rest.size()));
    const std::size_t comma = rest.find(',');
    matrix.entries.push_back(parse_entry(rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
  }
  require_full(matrix);
  return matrix;
}

std::string block_text(std::string_view key, const Matrix& matrix) {
  std::string text = " " + std::string(key) + "=" + shape_text(matrix);
  for (std::size_t i = 0; i < matrix.entries.size(); ++i) {
    text += (i == 0 ? ":" : ",") + numerics::hex_float(matrix.entries[i]);
  }
  return text;
}

}  // namespace softcheck::proptests

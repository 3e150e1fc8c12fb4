#include "proptests/generators/matrices/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>

#include "numerics/enclosures/certificate.hpp"
#include "proptests/generators/matrices/blocks.hpp"
#include "proptests/generators/text/case_text.hpp"
#include "theory/proposition_3_1.hpp"

namespace softcheck::proptests {
namespace {

constexpr int dimension = 0, query_width = 1, key_width = 2, item = 3;  // axes of a projection

Blocks blocks_of(const ProjectionCase& p) {
  return {{p.query, dimension, query_width}, {p.query_bias, dimension, -1}, {p.key, dimension, key_width},
          {p.key_bias, dimension, -1},       {p.y, query_width, -1},        {p.items, item, key_width}};
}

ProjectionCase projection_of(const Blocks& blocks, std::string family) {
  return {blocks[0].matrix, blocks[1].matrix, blocks[2].matrix, blocks[3].matrix,
          blocks[4].matrix, blocks[5].matrix, std::move(family)};
}

}  // namespace

theory::QueryAndItems query_and_items(const ProjectionCase& projection) {
  theory::QueryAndItems result;
  result.query = to_eigen(projection.query);
  result.query_bias = to_eigen(projection.query_bias);
  result.key = to_eigen(projection.key);
  result.key_bias = to_eigen(projection.key_bias);
  result.y = to_eigen(projection.y);
  result.items = to_eigen(projection.items);
  return result;
}

rc::Seq<MatrixCase> shrink_matrix_case(const MatrixCase& matrix_case) {
  return shrink_blocks(matrix_case, {{matrix_case.matrix, 0, 1}}, [](const Blocks& blocks, const MatrixCase& from) {
    return MatrixCase{blocks.front().matrix, from.family};
  });
}

rc::Seq<ProjectionCase> shrink_projection_case(const ProjectionCase& projection) {
  return shrink_blocks(projection, blocks_of(projection), [](const Blocks& blocks, const ProjectionCase& from) {
    return projection_of(blocks, from.family);
  });
}

std::string to_text(const MatrixCase& matrix_case) {
  std::string text = "matrix " + shape_text(matrix_case.matrix);
  for (double entry : matrix_case.matrix.entries) text += " " + numerics::hex_float(entry);
  return text;
}

void from_text(std::string_view text, MatrixCase& matrix_case) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < 2 || words[0] != "matrix") {
    throw std::invalid_argument("matrix case: need \"matrix 2x3 ENTRY ...\", got \"" + std::string(text) + "\"");
  }
  MatrixCase result{parse_shape(words[1]), "text"};
  for (std::string_view word : std::span(words).subspan(2)) result.matrix.entries.push_back(parse_entry(word));
  require_full(result.matrix);
  matrix_case = std::move(result);
}

std::string to_text(const ProjectionCase& p) {
  return "projection" + block_text("query", p.query) + block_text("query_bias", p.query_bias) +
         block_text("key", p.key) + block_text("key_bias", p.key_bias) + block_text("y", p.y) +
         block_text("items", p.items);
}

void from_text(std::string_view text, ProjectionCase& projection) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() != 7 || words[0] != "projection") {
    throw std::invalid_argument(
        "projection case: need \"projection query=... query_bias=... key=... key_bias=... "
        "y=... items=...\", got \"" +
        std::string(text) + "\"");
  }
  ProjectionCase result{parse_block(words[1], "query"),
                        parse_block(words[2], "query_bias"),
                        parse_block(words[3], "key"),
                        parse_block(words[4], "key_bias"),
                        parse_block(words[5], "y"),
                        parse_block(words[6], "items"),
                        "text"};
  const std::size_t d = result.query.rows;
  const bool fits = result.query_bias.rows == d && result.key.rows == d && result.key_bias.rows == d &&
                    result.y.rows == result.query.cols && result.items.cols == result.key.cols &&
                    result.query_bias.cols == 1 && result.key_bias.cols == 1 && result.y.cols == 1;
  if (!fits) throw std::invalid_argument("projection case: the shapes do not fit in \"" + std::string(text) + "\"");
  projection = std::move(result);
}

std::size_t size_of(const MatrixCase& matrix_case) { return matrix_case.matrix.entries.size(); }

std::size_t size_of(const ProjectionCase& projection) {
  std::size_t size = 0;
  for (const Block& block : blocks_of(projection)) size += block.matrix.entries.size();
  return size;
}

void showValue(const MatrixCase& matrix_case, std::ostream& stream) { stream << to_text(matrix_case); }
void showValue(const ProjectionCase& projection, std::ostream& stream) { stream << to_text(projection); }

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

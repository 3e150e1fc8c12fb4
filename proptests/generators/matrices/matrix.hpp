#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proptests/engine/rapidcheck_types.hpp"

namespace softcheck::theory {
struct QueryAndItems;
}

namespace softcheck::proptests {

/// A matrix in row-major order.
struct Matrix {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<double> entries;  // (rows, cols), finite

  double operator()(std::size_t row, std::size_t col) const { return entries[row * cols + col]; }
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

enum class MatrixFamily {
  gaussian,   // independent standard normal entries, exact in f32
  integer,    // in [-9, 9]
  rank_one,   // an outer product of short integers
  graded,     // gaussian, row i times 2^(-4 i): widely separated singular values
  hadamard,   // entries +-1, rows as orthogonal as the shape allows: many equal singular values
  zero_rows,  // integers, some rows zero
  tiny,       // gaussian times 2^-500: squares would underflow
  huge        // gaussian times 2^500: squares would overflow
};

std::span<const MatrixFamily> all_matrix_families();

class Draw;
Matrix draw_matrix(Draw& draw, MatrixFamily family, std::size_t rows, std::size_t cols);
/// 1 at size 0, up to `most` at size 100.
std::size_t draw_size(Draw& draw, std::size_t most, int size);

const char* to_string(MatrixFamily family);

/// Restricts the matrices that a property draws.
struct MatrixOptions {
  std::size_t max_rows = 24;
  std::size_t max_cols = 24;
  std::vector<MatrixFamily> families;  // empty: all
};

struct MatrixCase {
  Matrix matrix;
  std::string family;  // not part of its text

  friend bool operator==(const MatrixCase& a, const MatrixCase& b) { return a.matrix == b.matrix; }
};

/// throws   std::invalid_argument if a size is 0
rc::Gen<MatrixCase> matrix_cases(const MatrixOptions& options = {});

/// Drops rows and columns by halves, then zeroes and rounds entries.
rc::Seq<MatrixCase> shrink_matrix_case(const MatrixCase& matrix_case);

/// "matrix 2x3 0x1p+0 ..."
std::string to_text(const MatrixCase& matrix_case);
void from_text(std::string_view text, MatrixCase& matrix_case);
/// Number of entries.
std::size_t size_of(const MatrixCase& matrix_case);
void showValue(const MatrixCase& matrix_case, std::ostream& stream);

/// One query of a trained model and its items, as in Proposition 3.1; vectors are matrices with one column.
struct ProjectionCase {
  Matrix query;       // Q (d, width of y)
  Matrix query_bias;  // b_Q (d, 1)
  Matrix key;         // K (d, width of x)
  Matrix key_bias;    // b_K (d, 1)
  Matrix y;           // (width of y, 1)
  Matrix items;       // (n, width of x)
  std::string family;

  friend bool operator==(const ProjectionCase& a, const ProjectionCase& b) {
    return a.query == b.query && a.query_bias == b.query_bias && a.key == b.key && a.key_bias == b.key_bias &&
           a.y == b.y && a.items == b.items;
  }
};

theory::QueryAndItems query_and_items(const ProjectionCase& projection);

struct ProjectionOptions {
  std::size_t max_dimension = 12;  // d
  std::size_t max_width = 12;      // of y and of x
  std::size_t max_items = 24;
  // Without tiny and huge: the spread is a product of four such numbers.
  std::vector<MatrixFamily> families{MatrixFamily::gaussian, MatrixFamily::integer,  MatrixFamily::rank_one,
                                     MatrixFamily::graded,   MatrixFamily::hadamard, MatrixFamily::zero_rows};
};

/// A quarter of the cases has no biases.
rc::Gen<ProjectionCase> projection_cases(const ProjectionOptions& options = {});

/// Drops items, dimensions and both widths by halves, then simplifies entries as in a matrix.
rc::Seq<ProjectionCase> shrink_projection_case(const ProjectionCase& projection);

/// "projection query=2x2:0x1p+0,... query_bias=... key=... key_bias=... y=... items=..."
std::string to_text(const ProjectionCase& projection);
void from_text(std::string_view text, ProjectionCase& projection);
std::size_t size_of(const ProjectionCase& projection);
void showValue(const ProjectionCase& projection, std::ostream& stream);

// Matrices as part of a case's one-line text. Parsers throw std::invalid_argument with what they need.

/// "2x3"
std::string shape_text(const Matrix& matrix);
/// A matrix of that shape, without entries.
Matrix parse_shape(std::string_view word);
/// A finite number.
double parse_entry(std::string_view word);
void require_full(const Matrix& matrix);

/// " key=2x3:0x1p+0,0x0p+0,..."
std::string block_text(std::string_view key, const Matrix& matrix);
/// Parses a word without its leading blank.
Matrix parse_block(std::string_view word, std::string_view key);

}  // namespace softcheck::proptests

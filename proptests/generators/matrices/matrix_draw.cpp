#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/matrices/matrix.hpp"

namespace softcheck::proptests {
namespace {

template <class Entry>
Matrix filled(std::size_t rows, std::size_t cols, Entry entry) {
  Matrix matrix{rows, cols, {}};
  matrix.entries.reserve(rows * cols);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) matrix.entries.push_back(entry(i, j));
  }
  return matrix;
}

double single(double value) { return static_cast<double>(static_cast<float>(value)); }

std::vector<MatrixFamily> families_or_all(const std::vector<MatrixFamily>& families) {
  const std::span<const MatrixFamily> all = all_matrix_families();
  return families.empty() ? std::vector<MatrixFamily>(all.begin(), all.end()) : families;
}

MatrixCase draw_case(const rc::Random& random, int size, const MatrixOptions& options) {
  Draw draw(random);
  const std::vector<MatrixFamily> families = families_or_all(options.families);
  const MatrixFamily family = families[draw.below(families.size())];
  const std::size_t rows = draw_size(draw, options.max_rows, size);
  const std::size_t cols = draw.one_in(2) ? std::min(rows, options.max_cols) : draw_size(draw, options.max_cols, size);
  return {draw_matrix(draw, family, rows, cols), to_string(family)};
}

ProjectionCase draw_projection(const rc::Random& random, int size, const ProjectionOptions& options) {
  Draw draw(random);
  const std::vector<MatrixFamily> families = families_or_all(options.families);
  const MatrixFamily family = families[draw.below(families.size())];
  const std::size_t d = draw_size(draw, options.max_dimension, size);
  const std::size_t query_width = draw_size(draw, options.max_width, size);
  const std::size_t key_width = draw_size(draw, options.max_width, size);
  const std::size_t items = draw_size(draw, options.max_items, size);
  const bool biased = !draw.one_in(4);
  const auto bias = [&] {
    return biased ? draw_matrix(draw, MatrixFamily::gaussian, d, 1) : Matrix{d, 1, std::vector<double>(d)};
  };
  ProjectionCase result;
  result.family = to_string(family);
  result.query = draw_matrix(draw, family, d, query_width);
  result.query_bias = bias();
  result.key = draw_matrix(draw, family, d, key_width);
  result.key_bias = bias();
  result.y = draw_matrix(draw, draw.one_in(2) ? MatrixFamily::integer : MatrixFamily::gaussian, query_width, 1);
  result.items = draw_matrix(draw, family, items, key_width);
  return result;
}

}  // namespace

Matrix draw_matrix(Draw& draw, MatrixFamily family, std::size_t rows, std::size_t cols) {
  const auto integer = [&](std::size_t, std::size_t) { return static_cast<double>(draw.between(-9, 9)); };
  const auto scaled = [&](int exponent) {
    return [&draw, exponent](std::size_t, std::size_t) { return std::ldexp(single(draw.normal()), exponent); };
  };
  switch (family) {
    case MatrixFamily::gaussian:
      break;
    case MatrixFamily::integer:
      return filled(rows, cols, integer);
    case MatrixFamily::rank_one: {
      const Matrix left = filled(rows, 1, integer);
      const Matrix right = filled(cols, 1, integer);
      return filled(rows, cols, [&](std::size_t i, std::size_t j) { return left(i, 0) * right(j, 0); });
    }
    case MatrixFamily::graded:
      return filled(rows, cols, [&](std::size_t i, std::size_t) {
        return std::ldexp(single(draw.normal()), -4 * static_cast<int>(i));
      });
    case MatrixFamily::hadamard:
      // Sylvester's construction: entry (i, j) is -1 to the power of the number of common ones of i and j.
      return filled(rows, cols,
                    [](std::size_t i, std::size_t j) { return std::popcount(i & j) % 2 == 0 ? 1.0 : -1.0; });
    case MatrixFamily::zero_rows: {
      Matrix matrix = filled(rows, cols, integer);
      for (std::size_t i = 0; i < rows; ++i) {
        if (draw.one_in(2)) std::fill_n(matrix.entries.begin() + static_cast<std::ptrdiff_t>(i * cols), cols, 0.0);
      }
      return matrix;
    }
    case MatrixFamily::tiny:
      return filled(rows, cols, scaled(-500));
    case MatrixFamily::huge:
      return filled(rows, cols, scaled(500));
  }
  return filled(rows, cols, scaled(0));
}

std::size_t draw_size(Draw& draw, std::size_t most, int size) {
  const double share = std::min(size, rc::kNominalSize) / static_cast<double>(rc::kNominalSize);
  return 1 + draw.below(1 + static_cast<std::uint64_t>(share * static_cast<double>(most - 1)));
}

std::span<const MatrixFamily> all_matrix_families() {
  static constexpr MatrixFamily families[] = {MatrixFamily::gaussian, MatrixFamily::integer,  MatrixFamily::rank_one,
                                              MatrixFamily::graded,   MatrixFamily::hadamard, MatrixFamily::zero_rows,
                                              MatrixFamily::tiny,     MatrixFamily::huge};
  return families;
}

const char* to_string(MatrixFamily family) {
  static constexpr const char* names[] = {"gaussian", "integer",   "rank_one", "graded",
                                          "hadamard", "zero_rows", "tiny",     "huge"};
  return names[static_cast<std::size_t>(family)];
}

rc::Gen<MatrixCase> matrix_cases(const MatrixOptions& options) {
  if (options.max_rows < 1 || options.max_cols < 1) throw std::invalid_argument("matrix_cases: need sizes >= 1");
  return shrinking_cases([=](const rc::Random& random, int size) { return draw_case(random, size, options); },
                         [=](const MatrixCase& from) { return shrink_matrix_case(from); });
}

rc::Gen<ProjectionCase> projection_cases(const ProjectionOptions& options) {
  if (options.max_dimension < 1 || options.max_width < 1 || options.max_items < 1) {
    throw std::invalid_argument("projection_cases: need sizes >= 1");
  }
  return shrinking_cases([=](const rc::Random& random, int size) { return draw_projection(random, size, options); },
                         [=](const ProjectionCase& from) { return shrink_projection_case(from); });
}

}  // namespace softcheck::proptests

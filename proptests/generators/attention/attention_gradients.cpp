#include "proptests/generators/attention/attention_gradients.hpp"

#include <algorithm>
#include <cmath>

#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {

void draw_gradients(Draw& draw, AttentionCase& a, std::size_t distinct) {
  const AttentionShape& s = a.shape;
  const std::size_t rows = s.batch * s.heads() * s.queries;
  const std::uint64_t kind = draw.below(8);
  const double smallest = numerics::properties(a.format).smallest_normal;
  const auto number = [&](std::size_t row, std::size_t c) -> double {
    switch (kind) {
      case 0:  // one column: <dO, v> is that of the values
        return c == row % s.value_dim ? 1 : 0;
      case 1:  // all alike, as a sum's gradient
        return 1;
      case 2:  // far from 0: dO v nearly the same for all keys, so that g - delta cancels
        return 64 + 0.25 * draw.normal();
      case 3:  // one row in four: the gradients of the others are 0
        return row % 4 == 0 ? draw.normal() : 0;
      case 4:  // rows of very different sizes
        return std::ldexp(draw.normal(), static_cast<int>(row % 9) * 2 - 8);
      case 5:  // small, but not so small that products with coefficients lose digits to underflow
        return std::fmin(std::ldexp(smallest, 12 + static_cast<int>(row % 13)), 1) * draw.normal();
      default:
        return draw.normal();
    }
  };
  const std::size_t drawn = std::min(rows, std::max<std::size_t>(distinct, 1));
  a.gradients.clear();
  a.gradients.reserve(rows * s.value_dim);
  for (std::size_t k = 0; k < drawn * s.value_dim; ++k) {
    a.gradients.push_back(into_format(a.format, number(k / s.value_dim, k % s.value_dim)));
  }
  for (std::size_t k = drawn * s.value_dim; k < rows * s.value_dim; ++k) {
    a.gradients.push_back(a.gradients[k - drawn * s.value_dim]);
  }
}

}  // namespace softcheck::proptests

#pragma once

#include <cstddef>
#include <span>

namespace softcheck::proptests {

/// How a published test decides whether what a kernel returned will do: one rule over a whole tensor.
struct Comparison {
  enum class Rule {
    allclose,              // |got - expected| <= absolute + relative |expected|, each element (NumPy, PyTorch)
    allclose_of_got,       // |got - expected| <= absolute + relative |got|: torch.allclose(expected, got)
    squares,               // allclose of got^2 and expected^2
    larger_of_both,        // |got - expected| <= max(absolute, relative |expected|), each element (XNNPACK)
    square_sum,            // sum (got - expected)^2 <= absolute, over all
    saved_counts,          // of each row as many elements other than 0, to within absolute, or relative of the most
    mean_square,           // sum (got - expected)^2 / sum got^2 <= relative, nothing NaN or infinite (ggml)
    relative_or_epsilon,   // benchdnn: relative where |expected| > 1e-5, absolute below; or within an f32 epsilon
    row_sums,              // |sum of a row - 1| <= absolute + relative
    total,                 // |sum of all - rows| <= absolute
    between_zero_and_one,  // each element
    first_takes_all        // the first of each row > 1 - absolute, the others < absolute
  };
  Rule rule = Rule::allclose;
  double absolute = 0;
  double relative = 0;
};

/// Does the rule accept? A NaN that is not expected is never accepted.
///
/// got, expected   as many; row_length divides them
bool accepts(const Comparison& comparison, std::span<const double> got, std::span<const double> expected,
             std::size_t row_length);

}  // namespace softcheck::proptests

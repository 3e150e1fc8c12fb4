#pragma once

#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "numerics/formats/format.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

// Corollary B.1: on X = [a, b, ..., b] attention gives alpha_1 f(a) + (1 - alpha_1) f(b). With alpha_1 below the unit
// roundoff once n > e^(delta/theta)/u, the effect of a is lost. This header has it for a float format, with the
// concrete row and the smallest n, in two steps that the paper combines:
//
//   the coefficient vanishes   alpha_1 < u;
//   the output collapses       RN(alpha_1 f(a) + (1 - alpha_1) f(b)) = f(b): the output of [b, ..., b] to the last bit.
//
// The second needs |alpha_1 (f(a) - f(b))| < ulp(f(b))/4: half of the spacing towards zero where f(b) is a power of
// two.

/// alpha_1 of the row [delta, 0, ..., 0] of n logits: Lemma 2.1's sharp upper bound, attained. n may be any real >= 1.
template <Scalar T>
T leading_coefficient(const T& length, const T& spread, const T& theta) {
  return T(1) / (T(1) + (length - T(1)) * exp(-spread / theta));
}

/// An input on which a format must err.
struct CollapseCase {
  numerics::Format format = numerics::Format::f32;
  double spread = 1;  // of the logits: a has the logit delta, every b the logit 0; delta >= 0
  double theta = 1;   // > 0, spread / theta <= 200
  double first = 1;   // f(a), a finite number of the format
  double other = 0;   // f(b), another one
};

/// The concrete input: [delta, 0, ..., 0].
std::vector<double> collapse_row(double spread, std::size_t length);

/// Smallest n >= 2 with alpha_1 < u of the format. A point enclosure, certain: see smallest_dispersed_length.
numerics::Enclosure smallest_vanishing_length(const CollapseCase& input);

/// Smallest n >= 2 with alpha_1 |f(a) - f(b)| < ulp(f(b))/4, the difference rounded up to a double. From this n on the
/// format returns f(b), also for every longer input, because alpha_1 falls with n.
///
/// throws   std::invalid_argument when f(a) and f(b) are not two different finite numbers of the format, or so far
///          apart that n exceeds 2^400
numerics::Enclosure smallest_collapsing_length(const CollapseCase& input);

/// corollary_b_1.coefficient_vanishes: at its n, and at the paper's floor(e^(delta/theta)/u) + 1, alpha_1 < u.
std::vector<numerics::Certificate> certify_coefficient_vanishes(const CollapseCase& input,
                                                                const numerics::Enclosure& length);

/// corollary_b_1.smallest_length: at n - 1 it is not below u.
numerics::Certificate certify_smallest_length(const CollapseCase& input, const numerics::Enclosure& length);

/// corollary_b_1.output_collapses: at n the exact output lies nearer to f(b) than half way to its neighbour in the
/// format (found by its bits) on the side of f(a): rounding to nearest gives f(b).
numerics::Certificate certify_output_collapses(const CollapseCase& input, const numerics::Enclosure& length);

/// corollary_b_1.concrete_row: where n <= 4096, the oracle's coefficient of the concrete row is leading_coefficient().
std::vector<numerics::Certificate> certify_concrete_row(const CollapseCase& input, const numerics::Enclosure& length);

/// All of the above.
std::vector<numerics::Certificate> check_corollary_b_1(const CollapseCase& input);

}  // namespace softcheck::theory

#pragma once

#include <array>
#include <span>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// The three answers an enclosure can give to a question about reals.
enum class Decision { proved, violated, undecided };

/// Precisions in bits at which a claim is evaluated until it is decided.
inline constexpr std::array<unsigned, 4> precision_ladder{64, 113, 256, 512};

/// Is a <= b (a < b, a == b) for every real in a and every real in b, for none, or can these enclosures not tell?
/// An enclosure that is not a number (the logarithm of a negative interval) decides nothing.
Decision less_equal(const Enclosure& a, const Enclosure& b);
Decision less(const Enclosure& a, const Enclosure& b);
Decision equal(const Enclosure& a, const Enclosure& b);

/// All proved: proved; one violated: violated; else undecided.
Decision all_of(std::span<const Decision> decisions);

/// Calls evaluate() -> Decision at the precisions of the ladder until it is not undecided.
template <class Evaluate>
Decision escalate(Evaluate&& evaluate) {
  Decision decision = Decision::undecided;
  for (unsigned bits : precision_ladder) {
    const PrecisionScope scope(bits);
    decision = evaluate();
    if (decision != Decision::undecided) break;
  }
  return decision;
}

}  // namespace softcheck::numerics

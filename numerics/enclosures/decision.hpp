#pragma once

#include <array>
#include <span>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// An enclosure's three possible answers about reals.
enum class Decision { proved, violated, undecided };

/// Bits of precision at which a claim is evaluated until it is decided.
inline constexpr std::array<unsigned, 4> precision_ladder{64, 113, 256, 512};

/// Does a <= b (a < b, a == b) hold for all reals in a and b (proved), or for none (violated)? Undecided otherwise, and
/// if an enclosure is NaN (the logarithm of a negative interval).
Decision less_equal(const Enclosure& a, const Enclosure& b);
Decision less(const Enclosure& a, const Enclosure& b);
Decision equal(const Enclosure& a, const Enclosure& b);

/// Proved if all are; violated if one is; else undecided.
Decision all_of(std::span<const Decision> decisions);

/// Calls evaluate() -> Decision at increasing precisions until it is decided.
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

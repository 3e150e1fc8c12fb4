#pragma once

#include <cstddef>
#include <string>

#include "numerics/certificate.hpp"
#include "numerics/contract.hpp"
#include "numerics/decision.hpp"
#include "numerics/enclosure.hpp"

namespace softcheck::proptests {

/// |got - exact| <= threshold with a verdict that was found already: the sides are there to be read. The witness gets
/// what was expected and got, as hex floats, and the error in ulps of the output's format at the exact value.
///
/// witness   text that replays the row
numerics::Certificate value_certificate(const std::string& claim, const std::string& witness,
                                        const numerics::Enclosure& exact, double got, double threshold,
                                        numerics::Decision decision, numerics::Format output);

/// An infinite value of the right sign where the true one, or one that the threshold allows, is beyond
/// overflow_limit(contract).
bool overflows_rightly(const numerics::Contract& contract, double got, const numerics::Enclosure& exact,
                       double threshold);

/// Whether the thresholds of a row said anything.
struct VacuityCount {
  std::size_t judged = 0;   // values that have a relative accuracy
  std::size_t vacuous = 0;  // of these, values no larger than the relative part of their own threshold, or unjudged

  /// Counts a value, unless it is zero, below the output's smallest normal number, beyond overflow_limit, or below
  /// resolution, where the contract leaves no relative accuracy to any kernel.
  void add(const numerics::Contract& contract, double magnitude, double resolution, bool is_vacuous);
  VacuityCount& operator+=(const VacuityCount& other);
  /// More than one in a hundred: the contract promises too little for a verdict.
  bool too_many() const { return vacuous * 100 > judged; }
};

}  // namespace softcheck::proptests

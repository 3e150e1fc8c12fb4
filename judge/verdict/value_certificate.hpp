#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "judge/call/evidence.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// By which the worst of several decisions is chosen: violated above undecided above proved.
int severity(numerics::Decision decision);

/// Errors of values that have a relative accuracy, in ulps of the output's format at the exact value.
struct ErrorSums {
  std::size_t values = 0;
  double worst_ulps = 0;          // the largest magnitude
  double total_ulps = 0;          // of the signed errors
  double worst_allowed = 0;       // the threshold of the value that has it, in the same unit
  std::size_t worst_element = 0;  // of the output

  /// exact     finite; counts nothing where it is below the format's smallest normal number, or no larger than allowed:
  ///           a value without a promised digit has no meaningful ulps
  /// allowed   its threshold
  void add(numerics::Format output, double exact, double error, std::size_t element, double allowed);
};

/// The decision of one claim about one row, with the element that used most of its threshold. It has no text yet,
/// because a report shows one row among a thousand.
struct ValueFinding {
  std::string_view claim;           // a literal
  std::optional<std::size_t> item;  // none: a value of the whole row
  numerics::Enclosure expected;     // encloses the exact value
  double got = 0;
  double threshold = 0;
  numerics::Decision decision = numerics::Decision::undecided;
  ErrorSums errors;           // of all elements
  bool by_identity = false;   // right or wrong by what it is (NaN, infinity, zero): there is no threshold
  std::string_view reason{};  // a literal: which rule a value broke that no threshold excuses
  std::optional<numerics::Format> format{};  // of the output, where it is not the contract's
  std::string_view due{};                    // a literal: by identity, what the value has to be, as "NaN"
  bool is_index = false;                     // got is the number of an item

  /// |got - expected| / threshold: at most 1 where the decision is proved, above 1 where it is violated. Infinite where
  /// got is not finite, where the threshold is 0 and exceeded, and where a value breaks a rule within its threshold.
  double share() const;
};

/// The format in whose ulps a report tells an error: the output's, or the accumulator's where that has fewer digits. An
/// f64 result of f32 arithmetic is 2^29 ulps of f64 off by its last rounding alone.
numerics::Format format_of_ulps(const numerics::Contract& contract, numerics::Format output);

/// |got - expected| <= threshold with the verdict that was found already: the sides are there to be read. The evidence
/// has the item, what was expected and got, and the error in ulps at the exact value.
///
/// usual   the format of these ulps where the finding has none of its own
numerics::Certificate certificate_of(const ValueFinding& finding, CallDescription asked, numerics::Format usual);

/// What a conversion may make of a result beyond the output's format (numerics::is_overflow), of the right sign, where
/// the true value, or one that a finite threshold allows a kernel to have before it rounds to the output, lies there.
/// Under no contract may anything else be infinite.
bool overflows_rightly(const numerics::Contract& contract, double got, const numerics::Enclosure& exact,
                       double threshold);

/// Whether the thresholds of a row said anything.
struct VacuityCount {
  std::size_t judged = 0;   // values that have a relative accuracy
  std::size_t vacuous = 0;  // of these, values no larger than the relative part of their own threshold, or unjudged
  std::size_t rows = 0;
  std::size_t unbounded = 0;   // of these, rows with an infinite threshold
  std::size_t unresolved = 0;  // rows not among these: they hold nothing that the contract's form keeps (JudgedRow)

  /// Counts a value, unless it is zero, below the output's smallest normal number, beyond overflow_limit, or below
  /// resolution, where the contract leaves no relative accuracy to any kernel.
  ///
  /// returns  whether it was counted
  bool add(const numerics::Contract& contract, double magnitude, double resolution, bool is_vacuous);
  void add_row(bool is_unbounded, bool is_resolved = true);
  VacuityCount& operator+=(const VacuityCount& other);
  /// More than one in a hundred: the contract promises too little for a verdict.
  bool too_many() const { return vacuous * 100 > judged; }
  /// The same of rows.
  bool too_many_unbounded() const { return unbounded * 100 > rows; }
};

}  // namespace softcheck::proptests

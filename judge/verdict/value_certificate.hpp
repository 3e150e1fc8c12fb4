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

/// Orders decisions to find the worst: violated > undecided > proved.
int severity(numerics::Decision decision);

/// Errors of the values that have a relative accuracy, in ulps of the output's format at the exact value.
struct ErrorSums {
  std::size_t values = 0;
  double worst_ulps = 0;          // the largest magnitude
  double total_ulps = 0;          // sum of the signed errors
  double worst_allowed = 0;       // threshold of the worst value, in the same unit
  std::size_t worst_element = 0;  // its index in the output

  /// exact     finite. Does not count a value below the format's smallest normal number, or no larger than its
  ///           threshold: without a promised digit, ulps mean nothing
  /// allowed   the value's threshold
  void add(numerics::Format output, double exact, double error, std::size_t element, double allowed);
};

/// The decision of one claim about one row, with the element that used most of its threshold. It has no text, because a
/// report shows one row in a thousand.
struct ValueFinding {
  std::string_view claim;           // a string literal
  std::optional<std::size_t> item;  // none: a value of the whole row
  numerics::Enclosure expected;     // encloses the exact value
  double got = 0;
  double threshold = 0;
  numerics::Decision decision = numerics::Decision::undecided;
  ErrorSums errors;                          // over all elements
  bool by_identity = false;                  // decided by the value's kind (NaN, infinity, zero), without a threshold
  std::string_view reason{};                 // a string literal: the rule that the value broke, whatever its threshold
  std::optional<numerics::Format> format{};  // the output's, if it is not the contract's
  std::string_view due{};                    // a string literal: the required value if by_identity, as "NaN"
  bool is_index = false;                     // got is an item's index

  /// |got - expected| / threshold: at most 1 if proved, above 1 if violated. Infinite if got is not finite, if a
  /// threshold of 0 is exceeded, or if a value within its threshold breaks a rule.
  double share() const;
};

/// The format in whose ulps a report states errors: the output's, or the accumulator's if that has fewer digits. An f64
/// result of f32 arithmetic is off by 2^29 ulps of f64 from its last rounding alone.
numerics::Format format_of_ulps(const numerics::Contract& contract, numerics::Format output);

/// The certificate of |got - expected| <= threshold with the finding's verdict; both sides are only for the reader. The
/// evidence has the item, the expected and returned values, and the error in ulps at the exact value.
///
/// usual   format of these ulps if the finding has none
numerics::Certificate certificate_of(const ValueFinding& finding, CallDescription asked, numerics::Format usual);

/// May `got` be what a conversion makes of a number beyond the output's format (numerics::is_overflow)? The sign must
/// match, and the exact value, or a value within a finite threshold of it before rounding to the output, must lie
/// beyond the format. No contract allows any other infinity.
bool overflows_rightly(const numerics::Contract& contract, double got, const numerics::Enclosure& exact,
                       double threshold);

/// Counts how many thresholds of a row are too wide to say anything.
struct VacuityCount {
  std::size_t judged = 0;   // values that have a relative accuracy
  std::size_t vacuous = 0;  // of these, values not judged, or whose threshold's relative part is as large as the value
  std::size_t rows = 0;
  std::size_t unbounded = 0;   // of these, rows with an infinite threshold
  std::size_t unresolved = 0;  // of the other rows, those in which the contract's form keeps no accuracy (JudgedRow)

  /// Counts a value. Ignores zeros, values below the output's smallest normal number or beyond overflow_limit, and
  /// values below the resolution, for which the contract leaves no kernel a relative accuracy.
  ///
  /// returns  true if the value was counted
  bool add(const numerics::Contract& contract, double magnitude, double resolution, bool is_vacuous);
  void add_row(bool is_unbounded, bool is_resolved = true);
  VacuityCount& operator+=(const VacuityCount& other);
  /// Adds a call's values, of which at most 1,024 count as vacuous: one long call does not decide alone.
  void add_call(VacuityCount call);
  /// More than one value in a hundred: the contract promises too little for a verdict.
  bool too_many() const { return vacuous * 100 > judged; }
  /// The same for rows.
  bool too_many_unbounded() const { return unbounded * 100 > rows; }
};

}  // namespace softcheck::proptests

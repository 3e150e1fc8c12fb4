#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// A decided claim is proved or violated; a bound as wide as what it bounds is vacuous, never proved.
enum class Verdict { proved, violated, vacuous, undecided };

/// The verdict of a decision that is not vacuous.
Verdict verdict_of(Decision decision);

enum class Relation { less_equal, less, equal };

/// Observations beside the two sides of a certificate, typed by the check that made them: a check of a kernel's call
/// has the call's end, its row and its value. A report casts to the type that it knows.
struct Evidence {
  Evidence() = default;
  Evidence(const Evidence&) = default;
  Evidence& operator=(const Evidence&) = default;
  virtual ~Evidence() = default;
};

/// One claim decided on one input: the value that every check of every kind returns.
struct Certificate {
  std::string claim;    // its id, as "lemma_2_1.upper": the thread through headers, proofs, properties and reports
  std::string witness;  // text that replays: the row in hex floats, the temperature, whatever the claim was asked of
  Enclosure left;
  Relation relation = Relation::less_equal;
  Enclosure right;
  double slack = 0;  // left / right, rounded up: how much of the bound was used, 1 when attained; NaN where meaningless
  Verdict verdict = Verdict::undecided;
  unsigned precision = 0;                         // bits at which it was decided
  std::shared_ptr<const Evidence> evidence = {};  // null where the sides and the witness say all
};

/// The two sides of a claim at the working precision.
///
/// gap, where given, is right - left computed so that its sign is certain where the sides' enclosures overlap: a sum of
/// terms of one sign, each an expm1 of exactly known differences. Attained bounds and ties are then decided as well.
struct Sides {
  Enclosure left;
  Enclosure right;
  std::optional<Enclosure> gap = std::nullopt;
};

/// Evaluates the sides at 64, 113, 256 and 512 bits until the relation is proved or violated.
Certificate certify(std::string claim, std::string witness, Relation relation, const std::function<Sides()>& sides);

Certificate certify_less_equal(std::string claim, std::string witness, const std::function<Sides()>& sides);
Certificate certify_less(std::string claim, std::string witness, const std::function<Sides()>& sides);

/// Two routes to one real: violated as soon as their enclosures share no point, proved when both are the same point or
/// when at 512 bits |left - right| <= 2^-256 |right| is proved. (Enclosures cannot prove two irrational numbers equal;
/// half of the digits leaves room for what a route may lose, and none for a wrong formula.)
Certificate certify_agreement(std::string claim, std::string witness, const std::function<Sides()>& sides);

/// Violated if one is, else undecided if one is, else vacuous if one is, else proved; proved for none.
Verdict worst(std::span<const Certificate> certificates);

const char* to_string(Verdict verdict);
const char* to_string(Relation relation);

/// A double in hexadecimal, exactly: "0x1.8p+1", "-inf".
std::string hex_float(double value);

}  // namespace softcheck::numerics

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// A decided claim is proved or violated. A bound as wide as the bounded quantity is vacuous, never proved.
enum class Verdict { proved, violated, vacuous, undecided };

/// The verdict of a decision; never vacuous.
Verdict verdict_of(Decision decision);

enum class Relation { less_equal, less, equal };

/// Additional observations of a certificate, in the type of the check that made them: a kernel check has the call's
/// ending, its row and its value. A report casts to the types that it knows.
struct Evidence {
  Evidence() = default;
  Evidence(const Evidence&) = default;
  Evidence& operator=(const Evidence&) = default;
  virtual ~Evidence() = default;
};

/// One claim decided for one input: the result of every check.
struct Certificate {
  std::string claim;    // its id, as "lemma_2_1.upper", in headers, proofs, properties and reports
  std::string witness;  // text that replays the input: the row in hex floats, the temperature, and so on
  Enclosure left;
  Relation relation = Relation::less_equal;
  Enclosure right;
  double slack = 0;  // left / right, rounded up: the used share of the bound, 1 if attained; NaN if meaningless
  Verdict verdict = Verdict::undecided;
  unsigned precision = 0;                         // bits that decided it
  std::shared_ptr<const Evidence> evidence = {};  // null if sides and witness say everything
};

/// The two sides of a claim at the working precision.
///
/// If given, `gap` is right - left, computed such that its sign is certain even if the sides' enclosures overlap: a sum
/// of terms of one sign, each an expm1 of exactly known differences. It decides attained bounds and ties.
struct Sides {
  Enclosure left;
  Enclosure right;
  std::optional<Enclosure> gap = std::nullopt;
};

/// Evaluates the sides at 64, 113, 256 and 512 bits until the relation is proved or violated.
Certificate certify(std::string claim, std::string witness, Relation relation, const std::function<Sides()>& sides);

Certificate certify_less_equal(std::string claim, std::string witness, const std::function<Sides()>& sides);
Certificate certify_less(std::string claim, std::string witness, const std::function<Sides()>& sides);

/// Compares two computations of one real: violated if their enclosures are disjoint; proved if both are the same point,
/// or if |left - right| <= 2^-256 |right| is proved at 512 bits. (Enclosures cannot prove two irrational numbers equal.
/// Half of the digits allow for losses of a computation, but not for a wrong formula.)
Certificate certify_agreement(std::string claim, std::string witness, const std::function<Sides()>& sides);

/// The worst verdict: violated, then undecided, vacuous, proved; proved if there are none.
Verdict worst(std::span<const Certificate> certificates);

const char* to_string(Verdict verdict);
const char* to_string(Relation relation);

/// A double in hexadecimal, exactly: "0x1.8p+1", "-inf".
std::string hex_float(double value);

}  // namespace softcheck::numerics

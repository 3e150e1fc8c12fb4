#include "numerics/enclosures/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace softcheck::numerics {
namespace {

Decision decide(Relation relation, const Sides& sides) {
  if (sides.gap) {
    switch (relation) {
      case Relation::less_equal:
        return less_equal(Enclosure(0), *sides.gap);
      case Relation::less:
        return less(Enclosure(0), *sides.gap);
      case Relation::equal:
        return equal(Enclosure(0), *sides.gap);
    }
  }
  switch (relation) {
    case Relation::less_equal:
      return less_equal(sides.left, sides.right);
    case Relation::less:
      return less(sides.left, sides.right);
    case Relation::equal:
      return equal(sides.left, sides.right);
  }
  return Decision::undecided;
}

double used_fraction(const Enclosure& left, const Enclosure& right) {
  if (!right.certainly_positive() || !left.certainly_nonnegative()) return std::numeric_limits<double>::quiet_NaN();
  return (left / right).upper_double();
}

Certificate fill(std::string claim, std::string witness, Relation relation, const Sides& sides, Decision decision,
                 unsigned precision) {
  Certificate result;
  result.claim = std::move(claim);
  result.witness = std::move(witness);
  result.left = sides.left;
  result.relation = relation;
  result.right = sides.right;
  result.slack = used_fraction(sides.left, sides.right);
  result.verdict = verdict_of(decision);
  result.precision = precision;
  return result;
}

}  // namespace

Verdict verdict_of(Decision decision) {
  switch (decision) {
    case Decision::proved:
      return Verdict::proved;
    case Decision::violated:
      return Verdict::violated;
    case Decision::undecided:
      return Verdict::undecided;
  }
  return Verdict::undecided;
}

Certificate certify(std::string claim, std::string witness, Relation relation, const std::function<Sides()>& sides) {
  for (unsigned bits : precision_ladder) {
    const PrecisionScope scope(bits);
    const Sides now = sides();
    const Decision decision = decide(relation, now);
    if (decision != Decision::undecided || bits == precision_ladder.back()) {
      return fill(std::move(claim), std::move(witness), relation, now, decision, bits);
    }
  }
  return {};
}

Certificate certify_less_equal(std::string claim, std::string witness, const std::function<Sides()>& sides) {
  return certify(std::move(claim), std::move(witness), Relation::less_equal, sides);
}

Certificate certify_less(std::string claim, std::string witness, const std::function<Sides()>& sides) {
  return certify(std::move(claim), std::move(witness), Relation::less, sides);
}

Certificate certify_agreement(std::string claim, std::string witness, const std::function<Sides()>& sides) {
  for (unsigned bits : precision_ladder) {
    const PrecisionScope scope(bits);
    const Sides now = sides();
    const Enclosure difference = now.gap ? *now.gap : now.right - now.left;
    Decision decision = equal(Enclosure(0), difference);
    if (decision == Decision::undecided && bits == precision_ladder.back()) {
      // |left - right| <= |right| 2^-256: enclosures at 512 bits lose half of their digits only if the two methods
      // differ.
      const Enclosure allowed = abs(now.right) * Enclosure::power_of_two(-static_cast<long>(bits / 2));
      if (less_equal(abs(difference), allowed) == Decision::proved) decision = Decision::proved;
    }
    if (decision != Decision::undecided || bits == precision_ladder.back()) {
      return fill(std::move(claim), std::move(witness), Relation::equal, now, decision, bits);
    }
  }
  return {};
}

Verdict worst(std::span<const Certificate> certificates) {
  Verdict result = Verdict::proved;
  const auto rank = [](Verdict verdict) {
    switch (verdict) {
      case Verdict::violated:
        return 3;
      case Verdict::undecided:
        return 2;
      case Verdict::vacuous:
        return 1;
      case Verdict::proved:
        return 0;
    }
    return 2;
  };
  for (const Certificate& certificate : certificates) {
    if (rank(certificate.verdict) > rank(result)) result = certificate.verdict;
  }
  return result;
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::proved:
      return "proved";
    case Verdict::violated:
      return "violated";
    case Verdict::vacuous:
      return "vacuous";
    case Verdict::undecided:
      return "undecided";
  }
  return "?";
}

const char* to_string(Relation relation) {
  switch (relation) {
    case Relation::less_equal:
      return "<=";
    case Relation::less:
      return "<";
    case Relation::equal:
      return "=";
  }
  return "?";
}

std::string hex_float(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

}  // namespace softcheck::numerics

#include "numerics/enclosures/certificate.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>

namespace softcheck::numerics {
namespace {

Decision decide(Relation relation, const Sides& sides) {
  const Enclosure zero(0);
  const Enclosure& left = sides.gap ? zero : sides.left;
  const Enclosure& right = sides.gap ? *sides.gap : sides.right;
  if (relation == Relation::equal) return equal(left, right);
  return relation == Relation::less ? less(left, right) : less_equal(left, right);
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
  if (decision == Decision::undecided) return Verdict::undecided;
  return decision == Decision::proved ? Verdict::proved : Verdict::violated;
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
  for (const Verdict verdict : {Verdict::violated, Verdict::undecided, Verdict::vacuous}) {
    if (std::ranges::find(certificates, verdict, &Certificate::verdict) != certificates.end()) return verdict;
  }
  return Verdict::proved;
}

const char* to_string(Verdict verdict) {
  static constexpr std::array names{"proved", "violated", "vacuous", "undecided"};
  return names.at(static_cast<std::size_t>(verdict));
}

const char* to_string(Relation relation) {
  static constexpr std::array names{"<=", "<", "="};
  return names.at(static_cast<std::size_t>(relation));
}

std::string hex_float(double value) {
  char text[40];
  if (!std::isnormal(value)) {
    std::snprintf(text, sizeof text, "%a", value);
    return text;
  }
  // The same digits in a tenth of the time.
  char* end = std::copy_n(value < 0 ? "-0x" : "0x", value < 0 ? 3 : 2, text);
  end = std::to_chars(end, std::end(text), std::fabs(value), std::chars_format::hex).ptr;
  return {text, end};
}

}  // namespace softcheck::numerics

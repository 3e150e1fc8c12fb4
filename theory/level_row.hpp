#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::theory {

/// A logit and how often a row holds it.
struct Level {
  double logit;
  std::uint64_t count;
};

/// A row as its distinct logits with their counts, largest first, without masked items (-inf). Softmax, entropy and
/// every bound on them depend on nothing else, and a claim about each item is a claim about each level.
class LevelRow {
 public:
  /// logits   (n) finite or -inf, at least one finite
  /// throws   std::invalid_argument when a logit is NaN or +inf, or all are masked
  explicit LevelRow(std::span<const double> logits);
  /// levels   finite logits in any order, counts >= 1
  explicit LevelRow(std::vector<Level> levels);

  std::span<const Level> levels() const { return levels_; }
  std::uint64_t visible() const { return visible_; }  // n >= 1
  double largest() const { return levels_.front().logit; }
  double smallest() const { return levels_.back().logit; }
  bool all_equal() const { return levels_.size() == 1; }

  /// Every logit negated: softmax at -beta is softmax of the mirrored row at beta.
  LevelRow mirrored() const;
  /// Every item times over.
  LevelRow repeated(std::uint64_t times) const;

 private:
  std::vector<Level> levels_;
  std::uint64_t visible_ = 0;
};

/// True if the row has an item that is not masked: the certify functions of theory/ claim nothing about other rows.
bool has_visible(std::span<const double> logits);

/// A count in any scalar: rounded where it is wider than the scalar, enclosed where it is wider than an enclosure.
template <class T>
T count_as(std::uint64_t count) {
  if constexpr (std::same_as<T, numerics::Enclosure>) {
    return numerics::Enclosure::integer(count);
  } else {
    return T(static_cast<double>(count));
  }
}

/// a - b for two doubles: rounded once, so that its sign and its leading bits are those of the exact difference.
inline numerics::Enclosure difference(double a, double b) { return numerics::Enclosure(a) - numerics::Enclosure(b); }

/// "n=5 theta=0x1p+0 [0x1p+0 x1, ...]": the row of a certificate; long ones are cut after eight levels.
std::string witness_text(const LevelRow& row, double theta);

/// Computes a value once at each working precision, and returns that of the current precision: so several claims about
/// one row need only one pass over it.
template <class T, class Make>
class AtEachPrecision {
 public:
  explicit AtEachPrecision(Make make) : make_(std::move(make)) {}

  const T& operator()() {
    const auto found = values_.find(numerics::working_precision());
    if (found != values_.end()) return found->second;
    return values_.emplace(numerics::working_precision(), make_()).first->second;
  }

 private:
  Make make_;
  std::map<unsigned, T> values_;
};

template <class Make>
auto at_each_precision(Make make) {
  return AtEachPrecision<decltype(make()), Make>(std::move(make));
}

}  // namespace softcheck::theory

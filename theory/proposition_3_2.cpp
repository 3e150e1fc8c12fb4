#include "theory/proposition_3_2.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "theory/tempered_row.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

// Softmax at beta < 0 is softmax of the negated row at -beta.
LevelRow seen_from(const LevelRow& row, bool negative) { return negative ? row.mirrored() : row; }

// Two neighbouring temperatures of one row at one precision, beta_2 = beta_1 + h.
class NeighbouringTemperatures {
 public:
  NeighbouringTemperatures(const LevelRow& row, double beta) : equal_(row.all_equal()) {
    const Enclosure delta = difference(row.largest(), row.smallest());
    const Enclosure unit = Enclosure::power_of_two(equal_ ? 0 : -mpfr_get_exp(&delta.data()->left));
    beta_1_ = Enclosure(beta) * unit;
    step_ = unit / 64;
    beta_2_ = beta_1_ + step_;
    first_ = partition_moments(row, beta_1_);
    second_ = partition_moments(row, beta_2_);
    shrunk_ = exp(-(delta * step_));
    grown_ = exp(delta * step_);
  }

  // With E[e] = M - mean and ln Z = beta M + log_sum: h mean_2 <= log_sum_1 - log_sum_2 <= h mean_1. The gaps are
  // integrals of (b - beta_1) Var_b and of (beta_2 - b) Var_b.
  Sides slope_at_least() const {
    const Enclosure fall = first_.log_sum - second_.log_sum, left = step_ * second_.mean;
    return {left, fall, both(fall - left, square(step_) / 2)};
  }
  Sides slope_at_most() const {
    const Enclosure fall = first_.log_sum - second_.log_sum, right = step_ * first_.mean;
    return {fall, right, both(right - fall, square(step_) / 2)};
  }

  Sides curvature_at_least() const { return at_least(step_, first_.mean - second_.mean); }
  Sides curvature_at_most() const { return at_most(step_, first_.mean - second_.mean); }

  Sides entropy_falls_by_at_least() const { return at_least(weight(), entropy_fall()); }
  Sides entropy_falls_by_at_most() const { return at_most(weight(), entropy_fall()); }

 private:
  Enclosure weight() const { return step_ * (beta_1_ + beta_2_) / 2; }  // integral of b
  Enclosure entropy_fall() const { return entropy(beta_1_, first_) - entropy(beta_2_, second_); }

  // The difference itself and its mean-value form, integral * Var_b for b in between.
  Enclosure both(const Enclosure& direct, const Enclosure& integral) const {
    return intersection(direct, integral * first_.variance * hull(shrunk_, grown_));
  }
  // Equal logits have no variance and nothing changes: both sides are 0.
  Sides at_least(const Enclosure& integral, const Enclosure& change) const {
    const Enclosure left = integral * first_.variance * shrunk_;
    if (equal_) return {left, change, intersection(change - left, Enclosure(0))};
    return {left, change};
  }
  Sides at_most(const Enclosure& integral, const Enclosure& change) const {
    const Enclosure right = integral * first_.variance * grown_;
    if (equal_) return {change, right, intersection(right - change, Enclosure(0))};
    return {change, right};
  }

  bool equal_;
  Enclosure beta_1_, beta_2_, step_, shrunk_, grown_;
  PartitionMoments<Enclosure> first_, second_;
};

Sides entropy_sides(const LevelRow& row, double beta_1, double beta_2) {
  const Enclosure b1(beta_1), b2(beta_2);
  const Enclosure h1 = TemperedRow(row, b1).entropy(), h2 = TemperedRow(row, b2).entropy();
  const Enclosure drop = beta_1 == beta_2 ? Enclosure(0) : entropy_drop(row, {b1, b2 - b1});
  return {h2, h1, magnifying_logit(row, b1) ? drop : intersection(h1 - h2, drop)};
}

}  // namespace

PartitionMoments<Enclosure> partition_moments(const LevelRow& row, const Enclosure& beta) {
  const TemperedRow tempered(row, beta);
  PartitionMoments<Enclosure> result{tempered.log_sum(), Enclosure(0), Enclosure(0)};
  if (row.all_equal()) return result;
  std::vector<Enclosure> shares, distances;
  for (std::size_t j = 0; j < tempered.levels(); ++j) {
    shares.push_back(tempered.count(j) * tempered.coefficient(j));
    distances.push_back(difference(row.largest(), row.levels()[j].logit));
    result.mean += shares[j] * distances[j];
  }
  for (std::size_t j = 0; j < shares.size(); ++j) result.variance += shares[j] * square(distances[j] - result.mean);
  return result;
}

std::vector<Certificate> certify_derivatives(const LevelRow& given, double beta) {
  if (!(std::abs(beta) <= 64)) {
    throw std::invalid_argument("certify_derivatives: need |beta| <= 64 in units of 1/delta, got " +
                                std::to_string(beta));
  }
  const LevelRow row = seen_from(given, beta < 0);
  auto near = at_each_precision([&row, beta] { return NeighbouringTemperatures(row, std::abs(beta)); });
  const std::string witness = witness_text(row, 1) + " |beta|=" + numerics::hex_float(std::abs(beta)) + "/delta";
  const std::string slope = "proposition_3_2.log_partition_derivative";
  const std::string curvature = "proposition_3_2.log_partition_curvature";
  const std::string drop = "proposition_3_2.entropy_derivative";
  return {certify_less_equal(slope, witness, [&] { return near().slope_at_least(); }),
          certify_less_equal(slope, witness, [&] { return near().slope_at_most(); }),
          certify_less_equal(curvature, witness, [&] { return near().curvature_at_least(); }),
          certify_less_equal(curvature, witness, [&] { return near().curvature_at_most(); }),
          certify_less_equal(drop, witness, [&] { return near().entropy_falls_by_at_least(); }),
          certify_less_equal(drop, witness, [&] { return near().entropy_falls_by_at_most(); })};
}

std::vector<Certificate> certify_monotone_entropy(const LevelRow& given, double beta_1, double beta_2) {
  if (!std::isfinite(beta_1) || !std::isfinite(beta_2) || (beta_1 < 0 && beta_2 > 0) || (beta_1 > 0 && beta_2 < 0)) {
    throw std::invalid_argument("certify_monotone_entropy: need two finite betas of one sign, got " +
                                std::to_string(beta_1) + " and " + std::to_string(beta_2));
  }
  const LevelRow row = seen_from(given, beta_1 < 0 || beta_2 < 0);
  const auto [small, large] = std::minmax({std::abs(beta_1), std::abs(beta_2)});
  auto sides = at_each_precision([&row, small = small, large = large] { return entropy_sides(row, small, large); });
  const std::string witness =
      witness_text(row, 1) + " beta=" + numerics::hex_float(beta_1) + " and " + numerics::hex_float(beta_2);
  const auto evaluate = [&] { return sides(); };
  std::vector<Certificate> result{certify_less_equal("proposition_3_2.monotone", witness, evaluate)};
  if (row.all_equal()) {
    result.push_back(certify("proposition_3_2.strict", witness, numerics::Relation::equal, evaluate));
  } else if (small < large) {
    result.push_back(certify_less("proposition_3_2.strict", witness, evaluate));
  }
  return result;
}

}  // namespace softcheck::theory

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/bounds/plane_weights.hpp"
#include "numerics/matrices/lanczos.hpp"
#include "numerics/matrices/verified_cholesky.hpp"

namespace softcheck::models {
namespace {

// Directions that queries hardly have get this share of the mean: an inverse exists, and no direction is so thin that
// roundings decide.
constexpr double query_ridge = 1e-6;

// No |v . q| is above the root of v^T G v. Where the image has an offset this t is near the best for vectors v of no
// preferred direction.
BallMatrix reach_gram(const AffineImage& image) {
  const double linear = std::sqrt(std::max(image.radius_square * image.gram.middle.trace(), 0.0));
  const double constant = image.offset.middle.norm();
  return ellipsoid_gram(image, std::clamp(linear / std::max(constant, 1e-300), 1e-6, 1e12));
}

// R W R^T for one lag: columns, then rows.
class TurnedGram {
 public:
  TurnedGram(const MatrixXd& gram, std::vector<theory::Plane> planes, const std::vector<Enclosure>& frequencies)
      : gram_(gram), planes_(std::move(planes)), norm_(frobenius_upper(gram)) {
    for (const Enclosure& frequency : frequencies) frequencies_.push_back(frequency.midpoint());
    for (const double frequency : frequencies_) fastest_ = std::max(fastest_, std::fabs(frequency));
    for (const Enclosure& x : frequencies) width_ = std::max(width_, x.upper_double() - x.lower_double());
  }

  MatrixXd at(std::int64_t lag) const {
    MatrixXd turned = gram_;
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      const auto first = static_cast<Index>(planes_[p].first), second = static_cast<Index>(planes_[p].second);
      if (first == second) continue;
      const double angle = static_cast<double>(lag) * frequencies_[p], c = std::cos(angle), s = std::sin(angle);
      const VectorXd x = turned.col(first), y = turned.col(second);
      turned.col(first) = c * x - s * y;
      turned.col(second) = s * x + c * y;
    }
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      const auto first = static_cast<Index>(planes_[p].first), second = static_cast<Index>(planes_[p].second);
      if (first == second) continue;
      const double angle = static_cast<double>(lag) * frequencies_[p], c = std::cos(angle), s = std::sin(angle);
      const Eigen::RowVectorXd x = turned.row(first), y = turned.row(second);
      turned.row(first) = c * x - s * y;
      turned.row(second) = s * x + c * y;
    }
    return (turned + turned.transpose()) / 2;
  }

  // Frobenius' distance of at(lag) from the truth, u = 2^-53. An angle is off by 2 u of itself (a frequency's midpoint,
  // the product) and by the lag times the frequency's width, its cosine and sine by as much and 2 u more (libm: 1 ulp),
  // a turn of two numbers by 5 u: in all 4 (angle + 4) u for each of the two sides, of a pair of rows or columns, whose
  // squares add up to the norm. Four times that.
  double radius(std::int64_t lag) const {
    const auto distance = static_cast<double>(lag < 0 ? -lag : lag);
    return norm_ * ((distance * fastest_ + 8) * 0x1p-48 + 4 * distance * width_);
  }

 private:
  const MatrixXd& gram_;
  std::vector<theory::Plane> planes_;
  std::vector<double> frequencies_;
  double norm_, fastest_ = 0, width_ = 0;
};

}  // namespace

double largest_lagged_product(const AffineImage& query, const AffineImage& key, const Rotary& rotary, std::int64_t lags,
                              bool both_ways) {
  BallMatrix of_query = reach_gram(query);
  const BallMatrix of_key = reach_gram(key);
  const Index n = of_query.rows();
  of_query.middle.diagonal().array() += query_ridge * of_query.middle.trace() / static_cast<double>(n) + 0x1p-900;
  const MatrixXd factor = factor_above(of_query);  // N N^T above the queries' ellipsoid: q = N y, |y| <= 1
  MatrixXd inverse = MatrixXd::Identity(n, n);
  factor.triangularView<Eigen::Lower>().solveInPlace(inverse);
  if (!inverse.allFinite() || !of_key.all_finite()) {
    throw std::range_error("largest_lagged_product: an image leaves the range of double");
  }
  // |X N| <= 1 + off for X near N^-1.
  const BallMatrix product = BallMatrix::exactly(inverse) * BallMatrix::exactly(factor);
  const double off =
      frobenius_upper(numerics::raised((product.middle - MatrixXd::Identity(n, n)).cwiseAbs() + product.radius, 4));
  const BallMatrix metric = symmetrised(inner_products(BallMatrix::exactly(inverse), BallMatrix::exactly(inverse)));
  const double metric_radius = frobenius_upper(metric.radius), key_radius = frobenius_upper(of_key.radius);
  const double factor_norm = frobenius_upper(factor);

  // For x = N y: x^T W x <= square |X x|^2 + lost |x|^2, where square X^T X - W + lost I is positive semidefinite.
  double square = 0, worst = 0;
  for (const std::vector<Enclosure>& frequencies : rotary.frequencies) {
    const TurnedGram gram(of_key.middle, planes_of(rotary, n), frequencies);
    for (std::int64_t i = both_ways ? 1 - lags : 0; i < lags; ++i) {
      // Keys of a causal head stand before their query.
      const std::int64_t lag = -i;
      const MatrixXd turned = gram.at(lag);
      for (int attempt = 0;; ++attempt) {
        // A guess that is too low is raised to this lag's own value.
        const MatrixXd gap = turned - square * metric.middle;
        const double shift =
            0x1p-48 * std::max(turned.diagonal().maxCoeff(), square * metric.middle.diagonal().maxCoeff()) + 0x1p-900;
        const numerics::VerifiedCholesky verified = numerics::verified_cholesky(gap, shift);
        if (verified.factored) {
          const Enclosure lost =
              Enclosure(shift) + verified.residual + Enclosure(gram.radius(lag)) + Enclosure(key_radius) +
              Enclosure(square) * Enclosure(metric_radius) +
              Enclosure(frobenius_upper(turned) + square * frobenius_upper(metric.middle)) * Enclosure(0x1p-51);
          worst = std::max(worst, lost.upper_double());
          break;
        }
        if (attempt > 60) throw std::range_error("largest_lagged_product: no bound is certain");
        const double own = numerics::largest_ritz_pair(MatrixXd(factor.transpose() * turned * factor)).value;
        square = std::max(own * (1 + 1e-9), square * (attempt == 0 ? 1 : 1 + 1e-9 * std::pow(2, attempt))) + 1e-300;
      }
    }
  }
  const Enclosure stretched = Enclosure(1) + Enclosure(off);
  return sqrt(Enclosure(square) * stretched * stretched +
              Enclosure(worst) * Enclosure(factor_norm) * Enclosure(factor_norm))
      .upper_double();
}

}  // namespace softcheck::models

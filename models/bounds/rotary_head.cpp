#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "models/bounds/head_bounds.hpp"
#include "models/bounds/plane_weights.hpp"
#include "numerics/matrices/lanczos.hpp"
#include "theory/norm_ellipsoid.hpp"
#include "theory/rotary_positions.hpp"

namespace softcheck::models {
namespace {

BallMatrix inverses(const VectorXd& weights) {
  BallMatrix result{weights.cwiseInverse(), {}};
  result.radius = 0x1p-52 * result.middle;
  return result;
}

/// lambda_query and lambda_key of rotary_positions.hpp.
struct WeightedSquares {
  LargestSquare query, key;
};

WeightedSquares weighted(const AffineImage& query, const AffineImage& key, const VectorXd& roots) {
  return {largest_square(query.scaled(inverses(roots))), largest_square(key.scaled(BallMatrix::exactly(roots)))};
}

// Where a query's lower ends are sought: what it reaches at each lag, in doubles. A query at lag m sees the key turned
// by m times the frequency; turning the query back instead is the same product.
class LagSearch {
 public:
  LagSearch(const AffineImage& query, const AffineImage& key, const std::vector<theory::Plane>& planes,
            const std::vector<Enclosure>& frequencies, Index lags, double direction)
      : query_(query), key_(key), planes_(planes), cosines_(planes.size(), lags), sines_(planes.size(), lags) {
    for (std::size_t p = 0; p < planes.size(); ++p) {
      const double frequency = p < frequencies.size() ? frequencies[p].midpoint() : 0;
      for (Index lag = 0; lag < lags; ++lag) {
        // Lag 0 is the query's own place, whose key comes from the query's own input: it is left out.
        const double angle = direction * static_cast<double>(lag + 1) * frequency;
        cosines_(static_cast<Index>(p), lag) = std::cos(angle);
        sines_(static_cast<Index>(p), lag) = std::sin(angle);
      }
    }
  }

  struct Reach {
    double spread = 0, logit = 0;
    Index high_lag = 0, low_lag = 0, logit_lag = 0;  // 0 stands for a distance of 1
    VectorXd towards_spread, towards_logit;          // where the query should go
  };

  Reach reach(const VectorXd& w) const {
    const VectorXd u = query_.point_towards(w).middle + query_.offset.middle;
    const MatrixXd turned = turned_back(u);
    const MatrixXd images = key_.gram.middle * turned;
    const RowVectorXd middle = key_.offset.middle.transpose() * turned;
    const RowVectorXd half =
        (key_.radius_square * turned.cwiseProduct(images).colwise().sum()).cwiseMax(1e-300).cwiseSqrt();
    const RowVectorXd high = middle + half, low = middle - half;
    Reach result;
    high.maxCoeff(&result.high_lag);
    low.minCoeff(&result.low_lag);
    if (result.high_lag == result.low_lag && high.size() > 1) {
      // Two keys do not share a place: the better of the two ways out.
      RowVectorXd others = low;
      others(result.high_lag) = high.maxCoeff();
      Index other_low = 0, other_high = 0;
      others.minCoeff(&other_low);
      others = high;
      others(result.low_lag) = low.minCoeff();
      others.maxCoeff(&other_high);
      if (high(other_high) - low(result.low_lag) > high(result.high_lag) - low(other_low)) {
        result.high_lag = other_high;
      } else {
        result.low_lag = other_low;
      }
    }
    result.spread = high(result.high_lag) - low(result.low_lag);
    const double top = high.maxCoeff(&result.logit_lag);
    Index bottom_lag = 0;
    const double bottom = low.minCoeff(&bottom_lag);
    const bool negative = -bottom > top;
    if (negative) result.logit_lag = bottom_lag;
    result.logit = std::max(top, -bottom);
    const VectorXd highest = turned_key(images.col(result.high_lag), half(result.high_lag), 1, result.high_lag);
    const VectorXd lowest = turned_key(images.col(result.low_lag), half(result.low_lag), -1, result.low_lag);
    result.towards_spread = highest - lowest;
    const double sign = negative ? -1 : 1;
    result.towards_logit =
        sign * turned_key(images.col(result.logit_lag), half(result.logit_lag), sign, result.logit_lag);
    return result;
  }

 private:
  // R_lag^T u for each lag.
  MatrixXd turned_back(const VectorXd& u) const {
    MatrixXd result = u.replicate(1, cosines_.cols());
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      const auto first = static_cast<Index>(planes_[p].first), second = static_cast<Index>(planes_[p].second);
      if (first == second) continue;
      const auto row = static_cast<Index>(p);
      result.row(first) = u(first) * cosines_.row(row) + u(second) * sines_.row(row);
      result.row(second) = u(second) * cosines_.row(row) - u(first) * sines_.row(row);
    }
    return result;
  }

  // R_lag (b + sign sqrt(rk) B B^T v / |B^T v|), half = sqrt(rk) |B^T v|.
  VectorXd turned_key(const VectorXd& image, double half, double sign, Index lag) const {
    const VectorXd key = key_.offset.middle + sign * key_.radius_square / half * image;
    VectorXd result = key;
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      const auto first = static_cast<Index>(planes_[p].first), second = static_cast<Index>(planes_[p].second);
      if (first == second) continue;
      const double c = cosines_(static_cast<Index>(p), lag), s = sines_(static_cast<Index>(p), lag);
      result(first) = c * key(first) - s * key(second);
      result(second) = s * key(first) + c * key(second);
    }
    return result;
  }

  const AffineImage &query_, &key_;
  const std::vector<theory::Plane>& planes_;
  MatrixXd cosines_, sines_;  // (planes, lags)
};

struct Found {
  double value = 0;
  VectorXd w;
  Index first_lag = 0, second_lag = 0;
};

// The two logits that keys of the ball reach at a lag.
std::pair<Enclosure, Enclosure> reach_at(const BallMatrix& u, const AffineImage& key,
                                         const std::vector<theory::Plane>& planes,
                                         const std::vector<Enclosure>& frequencies, double angle_factor) {
  const BallMatrix turned = turned_back(u, planes, frequencies, angle_factor);
  const Enclosure middle = inner_product(turned, key.offset);
  const Enclosure half = sqrt(Enclosure(key.radius_square)) * nonnegative_root(quadratic_form(key.gram, turned));
  return {middle - half, middle + half};
}

}  // namespace

HeadBounds bound_rotary_head(const ProjectionValues& query, const ProjectionValues& key, const Enclosure& scale,
                             const Rotary& rotary, std::int64_t lags, bool causal) {
  const AffineImage &q = query.image, &k = key.image;
  const Enclosure rq(q.radius_square), rk(k.radius_square);
  const std::vector<theory::Plane> planes = planes_of(rotary, q.gram.rows());
  HeadBounds bounds;
  bounds.product = theory::rotary_folded_spread(scale, query.sigma, key.sigma, query.bias_norm, key.bias_norm,
                                                square(query.input_norm), square(key.input_norm));
  const LargestEigenvalue of_query = largest_eigenvalue(q.gram), of_key = largest_eigenvalue(k.gram);
  bounds.folded = theory::rotary_folded_spread(scale, sqrt(Enclosure::between(of_query.lower, of_query.upper)),
                                               sqrt(Enclosure::between(of_key.lower, of_key.upper)),
                                               nonnegative_root(inner_product(q.offset, q.offset)),
                                               nonnegative_root(inner_product(k.offset, k.offset)), rq, rk);
  const PlaneWeights weights = search_plane_weights(q, k, planes);
  const WeightedSquares start = weighted(q, k, weights.start), better = weighted(q, k, weights.better);
  bounds.joint = theory::rotary_spread(scale, Enclosure::between(start.query.lower, start.query.upper),
                                       Enclosure::between(start.key.lower, start.key.upper));
  const auto logit = [&](const WeightedSquares& squares) {
    return theory::rotary_logit(scale, Enclosure(squares.query.upper), Enclosure(squares.key.upper)).upper_double();
  };
  bounds.logit.upper = std::min({logit(start), logit(better), (bounds.folded / Enclosure(2)).upper_double()});
  if (const std::optional<BalancedImages> balanced = balanced_unrotated(q, k, planes)) {
    const PlaneWeights of_balanced = search_plane_weights(balanced->query, balanced->key, planes);
    bounds.logit.upper =
        std::min({bounds.logit.upper, logit(weighted(balanced->query, balanced->key, of_balanced.start)),
                  logit(weighted(balanced->query, balanced->key, of_balanced.better))});
  }
  bounds.spread.upper = 2 * bounds.logit.upper;

  const double direction = causal ? -1 : 1;
  // Of several lists the last is that of long inputs, which have every lag; the first ends where its inputs do.
  const std::vector<Enclosure>& frequencies = rotary.frequencies.back();
  const LagSearch search(q, k, planes, frequencies, static_cast<Index>(std::max<std::int64_t>(lags - 1, 1)), direction);
  Found spread, largest;
  std::vector<VectorXd> starts{of_query.vector, k.gram.middle * of_query.vector,
                               weights.better.cwiseInverse().cwiseProduct(better.query.direction),
                               weights.better.cwiseProduct(better.key.direction)};
  for (const VectorXd& w : starts) {
    for (const bool of_logit : {false, true}) {
      if (of_logit && k.centred() && q.centred()) continue;
      VectorXd at = w;
      double last = 0;
      for (int step = 0; step < 8; ++step) {
        const LagSearch::Reach reach = search.reach(at);
        if (reach.spread > spread.value) spread = {reach.spread, at, reach.high_lag, reach.low_lag};
        if (reach.logit > largest.value) largest = {reach.logit, at, reach.logit_lag, 0};
        const double value = of_logit ? reach.logit : reach.spread;
        if (!(value > 1.001 * last)) break;
        last = value;
        at = of_logit ? reach.towards_logit : reach.towards_spread;
      }
    }
  }
  const auto reached = [&](const Found& found, Index lag) {
    const BallMatrix u = q.point_towards(found.w) + q.offset;
    return reach_at(u, k, planes, frequencies, direction * static_cast<double>(lag + 1));
  };
  if (spread.w.size() != 0 && spread.first_lag != spread.second_lag) {
    const Enclosure high = scale * reached(spread, spread.first_lag).second;
    const Enclosure low = scale * reached(spread, spread.second_lag).first;
    bounds.attained_high = high.lower_double();
    bounds.attained_low = low.upper_double();
    bounds.spread.lower = std::max((high - low).lower_double(), 0.0);
  }
  if (largest.w.size() != 0) {
    const auto [low, high] = reached(largest, largest.first_lag);
    bounds.logit.lower = std::max((scale * maximum(high, -low)).lower_double(), 0.0);
  }
  bounds.logit.lower = std::max({bounds.logit.lower, bounds.attained_high, -bounds.attained_low});
  return bounds;
}

}  // namespace softcheck::models

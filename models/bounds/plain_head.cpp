#include <algorithm>
#include <cmath>

#include "models/bounds/head_bounds.hpp"
#include "theory/norm_ellipsoid.hpp"

namespace softcheck::models {
namespace {

Enclosure root_between(double lower, double upper) { return sqrt(Enclosure::between(lower, upper)); }

// One query u, and what keys of the ball make of it: e = s (u.b +- sqrt(rk) |B^T u|).
struct QueryReach {
  Enclosure middle;  // u . b
  Enclosure half;    // sqrt(rk) |B^T u|
};

QueryReach reach_of(const BallMatrix& u, const AffineImage& key) {
  return {inner_product(u, key.offset),
          sqrt(Enclosure(key.radius_square)) * nonnegative_root(quadratic_form(key.gram, u))};
}

// Steps uphill from w: the query's direction is what the best keys of the last query ask for. with_bias: of |e|, else
// of the spread.
VectorXd climb(const AffineImage& query, const AffineImage& key, VectorXd w, bool with_bias) {
  for (int step = 0; step < 12; ++step) {
    const VectorXd u = query.point_towards(w).middle + query.offset.middle;
    VectorXd next = key.gram.middle * u;
    if (with_bias) {
      const double size = std::sqrt(std::max(u.dot(next), 1e-300));
      const double sign = u.dot(key.offset.middle.col(0)) < 0 ? -1 : 1;
      next = next * (std::sqrt(key.radius_square) / size) + sign * key.offset.middle;
    }
    if (!(next.norm() > 0)) break;
    w = next.normalized();
  }
  return w;
}

double estimated_logit_square(const AffineImage& query, const AffineImage& key, double t) {
  const BallMatrix ellipsoid = ellipsoid_gram(key, t);
  return estimated_largest_square(query.mapped(factor_above(ellipsoid).transpose()));
}

Supremum largest_logit(const AffineImage& query, const AffineImage& key, const Enclosure& scale,
                       const VectorXd& start) {
  Supremum logit;
  double t = 1;
  for (const double sign : {1.0, -1.0}) {
    const VectorXd w = climb(query, key, sign * start, true);
    const QueryReach reach = reach_of(query.point_towards(w) + query.offset, key);
    const double reached = (scale * (abs(reach.middle) + reach.half)).lower_double();
    if (reached < logit.lower) continue;
    logit.lower = reached;
    // Where this query is the worst, this t makes the ellipsoid touch it.
    t = std::clamp(reach.half.midpoint() / std::max(std::fabs(reach.middle.midpoint()), 1e-300), 1e-9, 1e9);
  }
  // A few steps downhill in ln t, in doubles; the t that they find is certified, whatever it is.
  double value = estimated_logit_square(query, key, t);
  for (double step = 0.2; step > 0.02 && scale.midpoint() * std::sqrt(value) > 1.0001 * logit.lower;) {
    bool better = false;
    for (const double sign : {1.0, -1.0}) {
      const double next = t * std::exp(sign * step), at_next = estimated_logit_square(query, key, next);
      if (!(at_next < value)) continue;
      value = at_next;
      t = next;
      better = true;
      break;
    }
    if (!better) step /= 3;
  }
  const MatrixXd factor = factor_above(ellipsoid_gram(key, t));
  const double square = largest_square(query.mapped(factor.transpose())).upper;
  logit.upper = theory::ellipsoid_logit(scale, Enclosure(square)).upper_double();
  return logit;
}

}  // namespace

HeadBounds bound_plain_head(const ProjectionValues& query, const ProjectionValues& key, const Enclosure& scale) {
  const AffineImage &q = query.image, &k = key.image;
  const Enclosure rq(q.radius_square), rk(k.radius_square);
  HeadBounds bounds;
  bounds.product = theory::folded_spread(scale, query.sigma * query.input_norm + query.bias_norm, key.sigma,
                                         Enclosure(), Enclosure(1), square(key.input_norm));
  const LargestEigenvalue of_query = largest_eigenvalue(q.gram), of_key = largest_eigenvalue(k.gram);
  bounds.folded = theory::folded_spread(scale, root_between(of_query.lower, of_query.upper),
                                        root_between(of_key.lower, of_key.upper),
                                        nonnegative_root(inner_product(q.offset, q.offset)), rq, rk);

  const MatrixXd factor = factor_above(k.gram);
  const AffineImage seen = q.mapped(factor.transpose());
  const LargestEigenvalue joint = largest_eigenvalue(seen.gram);
  // sigma(B^T A)^2 >= |B^T A z|^2 / |z|^2 for z = A^T N v.
  const BallMatrix direction = BallMatrix::exactly(factor * joint.vector);
  const BallMatrix image = q.gram * direction;
  const Enclosure length = inner_product(direction, image);
  const double joint_lower =
      length.certainly_positive() ? std::max((quadratic_form(k.gram, image) / length).lower_double(), 0.0) : 0;
  bounds.joint = theory::joint_spread(scale, root_between(std::min(joint_lower, joint.upper), joint.upper),
                                      nonnegative_root(quadratic_form(k.gram, q.offset)), rq, rk);

  const LargestSquare best = largest_square(seen);
  bounds.spread.upper = theory::ellipsoid_spread(scale, rk, Enclosure(best.upper)).upper_double();
  const VectorXd start = factor * best.direction;
  for (const double sign : {1.0, -1.0}) {
    const VectorXd w = climb(q, k, sign * start, false);
    const QueryReach reach = reach_of(q.point_towards(w) + q.offset, k);
    const double spread = (Enclosure(2) * scale * reach.half).lower_double();
    if (spread < bounds.spread.lower) continue;
    bounds.spread.lower = spread;
    bounds.attained_high = (scale * (reach.middle + reach.half)).lower_double();
    bounds.attained_low = (scale * (reach.middle - reach.half)).upper_double();
  }
  if (k.centred()) {
    bounds.logit = {bounds.spread.lower / 2, bounds.spread.upper / 2};
  } else {
    bounds.logit = largest_logit(q, k, scale, start);
  }
  return bounds;
}

}  // namespace softcheck::models

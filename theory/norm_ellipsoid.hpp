#pragma once

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "theory/enclosed_matrix.hpp"
#include "theory/proposition_3_1.hpp"
#include "theory/scalar.hpp"
#include "theory/vectors.hpp"

namespace softcheck::theory {

/// The weights of an ellipsoid: (x + y)^2 <= linear x^2/r + constant y^2 for every t > 0, with equality at t = x/y.
template <Scalar T>
struct EllipsoidWeights {
  T linear;    // (1 + 1/t) r
  T constant;  // 1 + t
};
template <Scalar T>
EllipsoidWeights<T> ellipsoid_weights(const T& t, const T& r) {
  return {(T(1) + T(1) / t) * r, T(1) + t};
}

/// q = A z + a or k = B x + b over the ball |z|^2 <= radius_square.
struct AffineBall {
  Eigen::MatrixXd matrix;  // (d, p)
  Eigen::VectorXd offset;  // (d)
  double radius_square = 0;
};

/// N N^T = sum weight_i n_i n_i^T, n_i the columns of a matrix.
struct WeightedFactor {
  Eigen::MatrixXd columns;                   // (d, m)
  std::vector<numerics::Enclosure> weights;  // (m), each >= 0
};

/// An upper bound of max |M z + c|^2 over |z|^2 <= r: lambda_max((1 + 1/t) r M M^T + (1 + t) c c^T) by one sigma.
///
/// columns  of M          t        > 0 and finite          throws   std::invalid_argument if t is not
double largest_square(const EnclosedColumns& columns, const std::vector<numerics::Enclosure>& constant,
                      const numerics::Enclosure& radius_square, double t, const SigmaUpper& sigma = certified_sigma());
/// The same for |N^T (A z + a)|^2 over the ball.
///
/// throws   std::invalid_argument also if shapes do not fit
double largest_square(const AffineBall& ball, const WeightedFactor& factor, double t,
                      const SigmaUpper& sigma = certified_sigma());


// A norm confines the input of a head to a ball, for any earlier layers and any tokens: LayerNorm's
// z = (h - mean)/sqrt(var + eps) has |z|^2 = d var/(var + eps) < d and sum 0, RMSNorm's z = h/sqrt(mean h^2 + eps) has
// |z|^2 < d. With the norm's gain g and shift f, q = W_Q (g z + f) + b_Q, and so the key: a head after a norm is
//
//   q = A z + a, |z|^2 <= rq,    k = B x + b, |x|^2 <= rk,    logit e = s q . k,
//
// with A = W_Q diag(g), for LayerNorm each row less its mean (z has sum 0), a = W_Q f + b_Q and rq = d; s = 1/sqrt(d)
// in most models. This holds at every depth and every length. With u = A z + a, the logits of two keys differ by
// e_j - e_k = s B^T u . (x_j - x_k): the key bias b cancels, the spread of one query's logits is at most
//
//   best    2 s sqrt(rk) max |B^T u| over the ball of z, which two opposite keys attain,
//   joint   2 s sqrt(rk) (sigma(B^T A) sqrt(rq) + |B^T a|),
//   folded  2 s sqrt(rk) sigma(B) (sigma(A) sqrt(rq) + |a|),       best <= joint <= folded,
//
// and one logit is at most s (|u . b| + sqrt(rk) |B^T u|).
//
// The maximum over the ball is bounded by a largest eigenvalue: where N N^T >= B B^T, M = N^T A and c = N^T a,
//   |B^T u|^2 <= |M z + c|^2 <= lambda_max((1 + 1/t) rq M M^T + (1 + t) c c^T)     for every t > 0,
// since (x + y)^2 <= (1 + 1/t) x^2 + (1 + t) y^2 with x = v . M z, y = v . c, v the direction of M z + c. The least of
// these bounds over t is the maximum itself where N N^T = B B^T. For a logit, N N^T is at least
// (1 + t) b b^T + (1 + 1/t) rk B B^T.

enum class Norm { layer_norm, rms_norm };
const char* to_string(Norm norm);

/// z = factor direction: the direction of dyadic numbers is exact, and so are its products with a matrix.
template <Scalar T>
struct NormalisedVector {
  std::vector<T> direction;  // LayerNorm: d h - sum h; RMSNorm: h
  T factor;                  // LayerNorm: 1 / (d sqrt(var + eps)); RMSNorm: 1 / sqrt(mean h^2 + eps)
  T kept;                    // |z|^2 / d = var/(var + eps), in [0, 1)
  T lost;                    // eps/(var + eps) = 1 - kept
};

/// What LayerNorm or RMSNorm makes of h, before its gain and its shift.
///
/// input    (d), d >= 1          epsilon   > 0
template <Scalar T>
NormalisedVector<T> normalise(Norm norm, const std::vector<T>& input, const T& epsilon) {
  const T d = T(static_cast<int>(input.size()));
  NormalisedVector<T> result{input, T(1), T(0), T(0)};
  T mean_square = T(0);
  if (norm == Norm::layer_norm) {
    T sum = T(0);
    for (const T& entry : input) sum += entry;
    for (T& entry : result.direction) entry = d * entry - sum;
    mean_square = norm_square(result.direction) / (d * d * d);
  } else {
    mean_square = norm_square(input) / d;
  }
  const T root_argument = mean_square + epsilon;
  result.factor = T(1) / (norm == Norm::layer_norm ? d * sqrt(root_argument) : sqrt(root_argument));
  result.kept = mean_square / root_argument;
  result.lost = epsilon / root_argument;
  return result;
}

// The forms of the spread and of a logit, in the unit of the logits. Each grows in each of its arguments: upper bounds
// go in, an upper bound comes out. Below, sigma and squares are nonnegative.

/// s scale, sigma_query of A, sigma_key of B, bias_norm |a|, rq and rk the squares of the radii.
template <Scalar T>
T folded_spread(const T& s, const T& sigma_query, const T& sigma_key, const T& bias_norm, const T& rq, const T& rk) {
  return T(2) * s * (sigma_query * sqrt(rq) + bias_norm) * (sigma_key * sqrt(rk));
}

/// sigma_joint of B^T A, joint_bias_norm |B^T a|.
template <Scalar T>
T joint_spread(const T& s, const T& sigma_joint, const T& joint_bias_norm, const T& rq, const T& rk) {
  return T(2) * s * (sigma_joint * sqrt(rq) + joint_bias_norm) * sqrt(rk);
}

/// lambda >= |B^T u|^2: of one query, or for all queries as largest_square() gives it.
template <Scalar T>
T ellipsoid_spread(const T& s, const T& rk, const T& lambda) {
  return T(2) * s * sqrt(rk * lambda);
}

/// lambda >= u^T G u with G >= (1 + t) b b^T + (1 + 1/t) rk B B^T: of one query, or for all queries.
template <Scalar T>
T ellipsoid_logit(const T& s, const T& lambda) {
  return s * sqrt(lambda);
}

/// One query's: key_bias_product |u . b|, key_square |B^T u|^2.
template <Scalar T>
T query_logit(const T& s, const T& key_bias_product, const T& key_square, const T& rk) {
  return s * (key_bias_product + sqrt(rk * key_square));
}

/// A query and keys of a head after a norm: A, a, B, b, z and the rows x_j of at, in balls.
struct BallHead {
  QueryAndItems at;
  double scale = 1;         // s > 0
  double query_square = 0;  // rq >= |z|^2
  double key_square = 0;    // rk >= |x_j|^2

  AffineBall query_ball() const { return {at.query, at.query_bias, query_square}; }
  AffineBall key_ball() const { return {at.key, at.key_bias, key_square}; }
};

/// The head with the smallest doubles for radii that its query and its items allow.
BallHead in_smallest_balls(QueryAndItems at, double scale);

/// throws   std::invalid_argument naming the function when shapes do not fit, a number is not finite, the scale is not
///          positive or a vector is outside its ball
void require_ball_head(const char* function, const BallHead& head);

/// norm_ellipsoid.layer_norm or .rms_norm of one vector h: |z|^2 < d, and for LayerNorm sum z = 0, decided as: the sum
/// of the deviations above the mean equals that of the deviations below.
///
/// input    (d) finite, d >= 1          epsilon   > 0 and finite          throws   std::invalid_argument
std::vector<numerics::Certificate> certify_norm(Norm norm, std::span<const double> input, double epsilon);

/// norm_ellipsoid.spread, for N = B and for N = [B b]: the spread of the items' logits is at most ellipsoid_spread.
std::vector<numerics::Certificate> certify_ellipsoid_spread(const BallHead& head, double t,
                                                            const SigmaUpper& sigma = certified_sigma());

/// norm_ellipsoid.attained: the two keys +-sqrt(rk) B^T u/|B^T u| have logits 2 s sqrt(rk) |B^T u| apart.
numerics::Certificate certify_spread_attained(const BallHead& head);

/// norm_ellipsoid.logit, three times: every |e_j| <= s (|u . b| + sqrt(rk) |B^T u|) <= s sqrt(u^T G(t) u), and every
/// |e_j| is at most ellipsoid_logit for all queries.
std::vector<numerics::Certificate> certify_ellipsoid_logit(const BallHead& head, double t,
                                                           const SigmaUpper& sigma = certified_sigma());

/// norm_ellipsoid.folded, .joint: the spread of the items' logits is at most the form.
std::vector<numerics::Certificate> certify_folded_forms(const BallHead& head,
                                                        const SigmaUpper& sigma = certified_sigma());

/// norm_ellipsoid.ordering: at this query, and so at the best one, 2 s sqrt(rk) |B^T u| <= joint; joint <= folded; and,
/// if neither B^T A nor B^T a is 0, the ellipsoid of their norms is the joint form at its best t.
std::vector<numerics::Certificate> certify_ball_ordering(const BallHead& head,
                                                         const SigmaUpper& sigma = certified_sigma());

}  // namespace softcheck::theory

#include "theory/norm_ellipsoid.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "theory/level_row.hpp"
#include "theory/vectors.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_agreement;
using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

using Vector = std::vector<Enclosure>;

Enclosure norm_of(const Vector& x) { return sqrt(norm_square(x)); }

bool is_positive(double x) { return x > 0 && std::isfinite(x); }

// What the claims are made of, at one precision. Scores are q . k, logits without their scale.
struct BallTerms {
  explicit BallTerms(const BallHead& head)
      : scale(head.scale), rq(head.query_square), rk(head.key_square), bias(as_scalars<Enclosure>(head.at.query_bias)) {
    const Eigen::MatrixXd transposed_key = head.at.key.transpose();
    const Vector key_bias = as_scalars<Enclosure>(head.at.key_bias);
    query = add(multiply(head.at.query, as_scalars<Enclosure>(head.at.y)), bias);
    seen = multiply(transposed_key, query);
    joint_bias = multiply(transposed_key, bias);
    bias_score = dot(query, key_bias);
    for (Eigen::Index j = 0; j < head.at.items.rows(); ++j) {
      const Vector item = as_scalars<Enclosure>(head.at.items.row(j).transpose());
      scores.push_back(dot(query, add(multiply(head.at.key, item), key_bias)));
      parts.push_back(dot(seen, item));
    }
  }

  Enclosure spread() const { return scale * largest_difference(scores); }
  Enclosure largest_logit() const {
    Enclosure largest;
    for (const Enclosure& score : scores) largest = maximum(largest, abs(score));
    return scale * largest;
  }

  Enclosure scale, rq, rk;
  Vector bias, query, seen, joint_bias;  // a, u = A z + a, B^T u, B^T a
  Enclosure bias_score;                  // u . b
  Vector scores, parts;                  // u . (B x_j + b), B^T u . x_j
};

// Upper bounds of sigma(A), sigma(B) and sigma(B^T A), the last at most the product of the others.
struct BallSigmas {
  BallSigmas(const BallHead& head, const SigmaUpper& sigma) : query(sigma(head.at.query)), key(sigma(head.at.key)) {
    const numerics::PrecisionScope scope(113);
    const Eigen::MatrixXd transposed_key = head.at.key.transpose();
    EnclosedColumns columns;
    for (Eigen::Index j = 0; j < head.at.query.cols(); ++j) {
      columns.push_back(multiply(transposed_key, as_scalars<Enclosure>(head.at.query.col(j))));
    }
    joint_alone = sigma_of(sigma, columns);
  }

  Enclosure joint() const { return minimum(Enclosure(joint_alone), Enclosure(query) * Enclosure(key)); }

  double query, key, joint_alone;
};

// left <= right, both of them roots of squares: exactly 0 in a tie.
Sides below_root(const Enclosure& left, const Enclosure& right, const Enclosure& right_square) {
  return {left, right, intersection(right - left, root_difference(right_square, square(left)))};
}

Enclosure joint_square(const BallTerms& terms, const BallSigmas& sigmas) {
  return sum_square(sigmas.joint(), terms.rq, norm_square(terms.joint_bias));
}

std::string witness_of(const BallHead& head) {
  return describe(head.at) + " scale " + numerics::hex_float(head.scale) + " rq " +
         numerics::hex_float(head.query_square) + " rk " + numerics::hex_float(head.key_square);
}

double square_rounded_up(const Eigen::VectorXd& x) {
  const numerics::PrecisionScope scope(512);
  return norm_square(as_scalars<Enclosure>(x)).upper_double();
}

}  // namespace

const char* to_string(Norm norm) { return norm == Norm::layer_norm ? "layer_norm" : "rms_norm"; }

BallHead in_smallest_balls(QueryAndItems at, double scale) {
  BallHead head{std::move(at), scale, 0, 0};
  head.query_square = square_rounded_up(head.at.y);
  for (Eigen::Index j = 0; j < head.at.items.rows(); ++j) {
    head.key_square = std::max(head.key_square, square_rounded_up(head.at.items.row(j).transpose()));
  }
  return head;
}

void require_ball_head(const char* function, const BallHead& head) {
  require_shapes(function, head.at);
  if (!is_positive(head.scale)) {
    throw std::invalid_argument(std::string(function) + ": need a scale > 0, got " + std::to_string(head.scale));
  }
  const BallHead smallest = in_smallest_balls(head.at, head.scale);
  const auto inside = [](double square, double radius) { return square <= radius && std::isfinite(radius); };
  if (!inside(smallest.query_square, head.query_square) || !inside(smallest.key_square, head.key_square)) {
    throw std::invalid_argument(std::string(function) + ": need |z|^2 <= rq and |x_j|^2 <= rk, got rq " +
                                std::to_string(head.query_square) + " and rk " + std::to_string(head.key_square));
  }
}

std::vector<Certificate> certify_norm(Norm norm, std::span<const double> input, double epsilon) {
  const bool finite = std::all_of(input.begin(), input.end(), [](double x) { return std::isfinite(x); });
  if (input.empty() || !finite || !is_positive(epsilon)) {
    throw std::invalid_argument("certify_norm: need a vector of finite numbers and epsilon > 0, got " +
                                std::to_string(input.size()) + " numbers and epsilon " + std::to_string(epsilon));
  }
  const std::string claim = norm == Norm::layer_norm ? "norm_ellipsoid.layer_norm" : "norm_ellipsoid.rms_norm";
  const Eigen::Map<const Eigen::VectorXd> h(input.data(), static_cast<Eigen::Index>(input.size()));
  const std::string witness = "eps " + numerics::hex_float(epsilon) + " h " + text_of(h.transpose());
  auto normalised = at_each_precision([&] { return normalise(norm, as_scalars<Enclosure>(h), Enclosure(epsilon)); });
  std::vector<Certificate> result{certify_less(claim, witness, [&] {
    const Enclosure d = Enclosure(input.size());
    const Enclosure length = norm_square(normalised().direction) * square(normalised().factor);
    return Sides{length, d, intersection(d - length, d * normalised().lost)};
  })};
  if (norm == Norm::rms_norm) return result;
  result.push_back(certify_agreement(claim, "sum " + witness, [&] {
    Enclosure above, below;
    for (const Enclosure& entry : normalised().direction) {
      above += maximum(entry, Enclosure(0));
      below += maximum(-entry, Enclosure(0));
    }
    return Sides{above * normalised().factor, below * normalised().factor};
  }));
  return result;
}

std::vector<Certificate> certify_ellipsoid_spread(const BallHead& head, double t, const SigmaUpper& sigma) {
  require_ball_head("certify_ellipsoid_spread", head);
  auto terms = at_each_precision([&] { return BallTerms(head); });
  const auto certify_with = [&](const char* which, const WeightedFactor& factor) {
    const double lambda = largest_square(head.query_ball(), factor, t, sigma);
    return certify_less_equal("norm_ellipsoid.spread",
                              std::string(which) + " t " + numerics::hex_float(t) + " " + witness_of(head), [&] {
                                const BallTerms& now = terms();
                                const Enclosure four_squares = Enclosure(4) * square(now.scale);
                                return below_root(now.spread(), ellipsoid_spread(now.scale, now.rk, Enclosure(lambda)),
                                                  four_squares * now.rk * Enclosure(lambda));
                              });
  };
  const std::vector<Enclosure> ones(static_cast<std::size_t>(head.at.key.cols()) + 1, Enclosure(1));
  WeightedFactor wider{head.at.key, ones};
  wider.columns.conservativeResize(Eigen::NoChange, head.at.key.cols() + 1);
  wider.columns.rightCols(1) = head.at.key_bias;
  return {certify_with("N = B", {head.at.key, {ones.begin() + 1, ones.end()}}), certify_with("N = [B b]", wider)};
}

Certificate certify_spread_attained(const BallHead& head) {
  require_ball_head("certify_spread_attained", head);
  return certify_agreement("norm_ellipsoid.attained", witness_of(head), [&] {
    const BallTerms now(head);
    const Enclosure length_square = norm_square(now.seen);
    Vector key = now.seen;
    if (!(length_square.is_point() && length_square.contains(0.0))) {
      for (Enclosure& entry : key) entry = entry * sqrt(now.rk) / sqrt(length_square);
    }
    const Vector key_bias = as_scalars<Enclosure>(head.at.key_bias);
    const Vector moved = multiply(head.at.key, key);
    const Enclosure difference = dot(now.query, add(moved, key_bias)) - dot(now.query, subtract(key_bias, moved));
    return Sides{now.scale * difference, ellipsoid_spread(now.scale, now.rk, length_square)};
  });
}

std::vector<Certificate> certify_ellipsoid_logit(const BallHead& head, double t, const SigmaUpper& sigma) {
  require_ball_head("certify_ellipsoid_logit", head);
  const std::string claim = "norm_ellipsoid.logit";
  const std::string witness = "t " + numerics::hex_float(t) + " " + witness_of(head);
  auto terms = at_each_precision([&] { return BallTerms(head); });
  const auto ellipsoid_here = [&] {  // u^T G(t) u
    const BallTerms& now = terms();
    const EllipsoidWeights<Enclosure> weights = ellipsoid_weights(Enclosure(t), now.rk);
    return weights.constant * square(now.bias_score) + weights.linear * norm_square(now.seen);
  };
  const auto of_query = [&] {
    const BallTerms& now = terms();
    const Enclosure key_part = now.rk * norm_square(now.seen), bias_part = abs(now.bias_score);
    // |u . b| + |w| - |u . b + w| >= 0 and sqrt(rk) |B^T u| - |w| >= 0, w the part of an item.
    const auto gap = [&](std::size_t j) {
      const Enclosure room =
          (bias_part + abs(now.parts[j]) - abs(now.scores[j])) + root_difference(key_part, square(now.parts[j]));
      return intersection(bias_part + sqrt(key_part) - abs(now.scores[j]), room);
    };
    Enclosure least = gap(0);
    for (std::size_t j = 1; j < now.scores.size(); ++j) least = minimum(least, gap(j));
    return Sides{now.largest_logit(), query_logit(now.scale, bias_part, norm_square(now.seen), now.rk), least};
  };
  const auto below_ellipsoid = [&] {
    const BallTerms& now = terms();
    const Enclosure key_part = sqrt(now.rk * norm_square(now.seen)), bias_part = abs(now.bias_score);
    const Enclosure room = square(Enclosure(t) * bias_part - key_part) / Enclosure(t);
    return Sides{query_logit(now.scale, bias_part, norm_square(now.seen), now.rk),
                 ellipsoid_logit(now.scale, ellipsoid_here()),
                 intersection(ellipsoid_here() - square(bias_part + key_part), room)};
  };
  const auto weights = ellipsoid_weights(Enclosure(t), Enclosure(head.key_square));
  WeightedFactor factor{head.at.key,
                        std::vector<Enclosure>(static_cast<std::size_t>(head.at.key.cols()), weights.linear)};
  factor.columns.conservativeResize(Eigen::NoChange, head.at.key.cols() + 1);
  factor.columns.rightCols(1) = head.at.key_bias;
  factor.weights.push_back(weights.constant);
  const double lambda = largest_square(head.query_ball(), factor, t, sigma);
  return {certify_less_equal(claim, "one query " + witness, of_query),
          certify_less_equal(claim, "ellipsoid " + witness, below_ellipsoid),
          certify_less_equal(claim, "all queries " + witness, [&] {
            const BallTerms& now = terms();
            return below_root(now.largest_logit(), ellipsoid_logit(now.scale, Enclosure(lambda)),
                              square(now.scale) * Enclosure(lambda));
          })};
}

std::vector<Certificate> certify_folded_forms(const BallHead& head, const SigmaUpper& sigma) {
  require_ball_head("certify_folded_forms", head);
  const BallSigmas sigmas(head, sigma);
  auto terms = at_each_precision([&] { return BallTerms(head); });
  const auto four_squares = [&] { return Enclosure(4) * square(terms().scale) * terms().rk; };
  return {certify_less_equal(
              "norm_ellipsoid.folded", witness_of(head),
              [&] {
                const BallTerms& now = terms();
                const Enclosure query(sigmas.query), key(sigmas.key);
                const Enclosure form = folded_spread(now.scale, query, key, norm_of(now.bias), now.rq, now.rk);
                return below_root(now.spread(), form,
                                  four_squares() * square(key) * sum_square(query, now.rq, norm_square(now.bias)));
              }),
          certify_less_equal("norm_ellipsoid.joint", witness_of(head), [&] {
            const BallTerms& now = terms();
            const Enclosure form = joint_spread(now.scale, sigmas.joint(), norm_of(now.joint_bias), now.rq, now.rk);
            return below_root(now.spread(), form, four_squares() * joint_square(now, sigmas));
          })};
}

std::vector<Certificate> certify_ball_ordering(const BallHead& head, const SigmaUpper& sigma) {
  require_ball_head("certify_ball_ordering", head);
  const BallSigmas sigmas(head, sigma);
  const std::string claim = "norm_ellipsoid.ordering";
  auto terms = at_each_precision([&] { return BallTerms(head); });
  const auto joint_form = [&] {
    const BallTerms& now = terms();
    return joint_spread(now.scale, sigmas.joint(), norm_of(now.joint_bias), now.rq, now.rk);
  };
  const auto share = [&] { return Enclosure(2) * terms().scale * sqrt(terms().rk); };
  std::vector<Certificate> result{
      certify_less_equal(claim, "best <= joint " + witness_of(head),
                         [&] {
                           const BallTerms& now = terms();
                           const Enclosure seen_square = norm_square(now.seen);
                           const Enclosure room = share() * root_difference(joint_square(now, sigmas), seen_square);
                           const Enclosure best = ellipsoid_spread(now.scale, now.rk, seen_square);
                           return Sides{best, joint_form(), intersection(joint_form() - best, room)};
                         }),
      certify_less_equal(claim, "joint <= folded " + witness_of(head), [&] {
        const BallTerms& now = terms();
        const Enclosure query(sigmas.query), key(sigmas.key);
        const Enclosure folded = folded_spread(now.scale, query, key, norm_of(now.bias), now.rq, now.rk);
        const Enclosure room = (query * key - sigmas.joint()) * sqrt(now.rq) +
                               root_difference(square(key) * norm_square(now.bias), norm_square(now.joint_bias));
        return Sides{joint_form(), folded, intersection(folded - joint_form(), share() * room)};
      })};
  const Enclosure constant_square = norm_square(BallTerms(head).joint_bias);
  if (!(head.query_square > 0) || !(sigmas.joint_alone > 0) || !constant_square.certainly_positive()) return result;
  // lambda_max of a sum is at most the sum of the two: with these in place of the matrices, the least ellipsoid over t,
  // at t = x/y of (1 + 1/t) x^2 + (1 + t) y^2 = (x + y)^2, is the joint form.
  result.push_back(certify_agreement(claim, "ellipsoid at its best t " + witness_of(head), [&] {
    const BallTerms& now = terms();
    const Enclosure best_t = sigmas.joint() * sqrt(now.rq) / norm_of(now.joint_bias);
    const EllipsoidWeights<Enclosure> weights = ellipsoid_weights(best_t, now.rq);
    const Enclosure lambda = weights.linear * square(sigmas.joint()) + weights.constant * norm_square(now.joint_bias);
    return Sides{ellipsoid_spread(now.scale, now.rk, lambda), joint_form()};
  }));
  return result;
}

using numerics::Enclosure;

double largest_square(const EnclosedColumns& columns, const std::vector<Enclosure>& constant,
                      const Enclosure& radius_square, double t, const SigmaUpper& sigma) {
  if (!(t > 0 && std::isfinite(t))) throw std::invalid_argument("largest_square: need t > 0, got " + std::to_string(t));
  const numerics::PrecisionScope scope(113);
  EllipsoidWeights<Enclosure> weights = ellipsoid_weights(Enclosure(t), radius_square);
  // Without a constant the limit of large t is attained.
  const auto is_zero = [](const Enclosure& x) { return x.is_point() && x.contains(0.0); };
  if (std::all_of(constant.begin(), constant.end(), is_zero)) weights = {radius_square, Enclosure(0)};
  EnclosedColumns scaled = columns;
  for (std::vector<Enclosure>& column : scaled) {
    for (Enclosure& entry : column) entry *= sqrt(weights.linear);
  }
  scaled.push_back(constant);
  for (Enclosure& entry : scaled.back()) entry *= sqrt(weights.constant);
  return square(Enclosure(sigma_of(sigma, scaled))).upper_double();
}

double largest_square(const AffineBall& ball, const WeightedFactor& factor, double t, const SigmaUpper& sigma) {
  const bool fit = ball.matrix.rows() == ball.offset.size() && factor.columns.rows() == ball.matrix.rows() &&
                   factor.weights.size() == static_cast<std::size_t>(factor.columns.cols());
  if (!fit || !(ball.radius_square >= 0)) {
    throw std::invalid_argument("largest_square: need A (d, p), a (d), N (d, m), m weights and a radius >= 0");
  }
  const numerics::PrecisionScope scope(113);
  const Eigen::MatrixXd transposed = factor.columns.transpose();
  const auto seen = [&](const Eigen::VectorXd& x) {
    std::vector<Enclosure> result = multiply(transposed, as_scalars<Enclosure>(x));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] *= sqrt(factor.weights[i]);
    return result;
  };
  EnclosedColumns columns;
  for (Eigen::Index j = 0; j < ball.matrix.cols(); ++j) columns.push_back(seen(ball.matrix.col(j)));
  return largest_square(columns, seen(ball.offset), Enclosure(ball.radius_square), t, sigma);
}

}  // namespace softcheck::theory

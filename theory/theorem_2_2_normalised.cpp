#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "theory/theorem_2_2.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

using Vector = std::vector<Enclosure>;

// q = A z + a after the norm: the columns of A = W diag(g), for LayerNorm each row less its mean, and a = W f + b.
struct FoldedProjection {
  FoldedProjection(const NormedHead& head, const Eigen::MatrixXd& weights, const Eigen::VectorXd& bias)
      : offset(add(multiply(weights, as_scalars<Enclosure>(head.shift)), as_scalars<Enclosure>(bias))) {
    for (Eigen::Index j = 0; j < weights.cols(); ++j) {
      Vector column = as_scalars<Enclosure>(weights.col(j));
      for (Enclosure& entry : column) entry *= Enclosure(head.gain(j));
      columns.push_back(std::move(column));
    }
    if (head.norm == Norm::rms_norm) return;
    const Enclosure d(columns.size());
    for (std::size_t i = 0; i < offset.size(); ++i) {
      Enclosure sum;
      for (const Vector& column : columns) sum += column[i];
      for (Vector& column : columns) column[i] -= sum / d;
    }
  }

  EnclosedColumns columns;
  Vector offset;
};

Vector seen_by_keys(const FoldedProjection& key, const Vector& x) {
  Vector result;
  for (const Vector& column : key.columns) result.push_back(dot(column, x));
  return result;
}

void require_head(const char* function, const NormedHead& head) {
  const Eigen::Index d = head.gain.size(), width = head.query.rows();
  const bool fit = d >= 1 && width >= 1 && head.shift.size() == d && head.query.cols() == d && head.key.cols() == d &&
                   head.key.rows() == width && head.query_bias.size() == width && head.key_bias.size() == width;
  const bool finite = head.gain.allFinite() && head.shift.allFinite() && head.query.allFinite() &&
                      head.key.allFinite() && head.query_bias.allFinite() && head.key_bias.allFinite();
  const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
  if (!fit || !finite || !positive(head.scale) || !positive(head.norm_epsilon)) {
    throw std::invalid_argument(std::string(function) +
                                ": need gain and shift (d), W_Q and W_K (width, d), biases (width), all finite, "
                                "scale and epsilon of the norm > 0");
  }
}

// The logits without u . b, which they share, at one precision. With q = W_Q (g z + f) + b_Q and z = r y, y the exact
// direction: e_j = s (r (W_Q g y) + a) . (W_K g y_j) r_j, so that a head without spread has differences of exactly 0.
Vector logits_of(const NormedHead& head, const Eigen::VectorXd& query_input, const Eigen::MatrixXd& inputs) {
  const auto normalised = [&](const Eigen::VectorXd& h) {
    NormalisedVector<Enclosure> z = normalise(head.norm, as_scalars<Enclosure>(h), Enclosure(head.norm_epsilon));
    for (std::size_t i = 0; i < z.direction.size(); ++i) {
      z.direction[i] *= Enclosure(head.gain(static_cast<Eigen::Index>(i)));
    }
    return z;
  };
  const Vector offset =
      add(multiply(head.query, as_scalars<Enclosure>(head.shift)), as_scalars<Enclosure>(head.query_bias));
  const NormalisedVector<Enclosure> query = normalised(query_input);
  const Vector direction = multiply(head.query, query.direction);
  Vector logits;
  for (Eigen::Index j = 0; j < inputs.rows(); ++j) {
    const NormalisedVector<Enclosure> key = normalised(inputs.row(j).transpose());
    const Vector moved = multiply(head.key, key.direction);
    const Enclosure score = (dot(direction, moved) * query.factor + dot(offset, moved)) * key.factor;
    logits.push_back(Enclosure(head.scale) * score);
  }
  return logits;
}

std::string describe(const NormedHead& head, const Eigen::VectorXd& query_input, const Eigen::MatrixXd& inputs) {
  return std::string(to_string(head.norm)) + " eps " + numerics::hex_float(head.norm_epsilon) + " g " +
         text_of(head.gain.transpose()) + " f " + text_of(head.shift.transpose()) + " Q " + text_of(head.query) +
         " bQ " + text_of(head.query_bias) + " K " + text_of(head.key) + " bK " + text_of(head.key_bias) + " scale " +
         numerics::hex_float(head.scale) + " h " + text_of(query_input.transpose()) + " items " + text_of(inputs);
}

// A power of two of copies that makes the items more than the length.
double copies_beyond(const Enclosure& length) {
  int doublings = 0;
  while (!(length.upper_double() < std::ldexp(1.0, doublings)) && doublings < 900) ++doublings;
  if (doublings == 900) throw std::invalid_argument("certify_normalised: need N(epsilon) < 2^900");
  return std::ldexp(1.0, doublings);
}

}  // namespace

double normalised_spread(const NormedHead& head, const SigmaUpper& sigma) {
  require_head("normalised_spread", head);
  const numerics::PrecisionScope scope(113);
  const FoldedProjection query(head, head.query, head.query_bias), key(head, head.key, head.key_bias);
  EnclosedColumns columns;
  for (const Vector& column : query.columns) columns.push_back(seen_by_keys(key, column));
  const Vector constant = seen_by_keys(key, query.offset);
  const Enclosure d(columns.size());
  // The least of (1 + 1/t) x^2 + (1 + t) y^2 is at t = x/y; any t > 0 is valid.
  const double linear = std::sqrt(d.midpoint()) * sigma_of(sigma, columns);
  const double t = linear / sqrt(norm_square(constant)).midpoint();
  const double lambda = largest_square(columns, constant, d, t > 0 && std::isfinite(t) ? t : 1, sigma);
  return ellipsoid_spread(Enclosure(head.scale), d, Enclosure(lambda)).upper_double();
}

std::vector<Certificate> certify_normalised(const NormedHead& head, const Eigen::VectorXd& query_input,
                                            const Eigen::MatrixXd& inputs, double spread, double epsilon) {
  require_head("certify_normalised", head);
  const bool fit = query_input.size() == head.gain.size() && inputs.cols() == head.gain.size() && inputs.rows() >= 1;
  if (!fit || !query_input.allFinite() || !inputs.allFinite() || !(epsilon > 0 && epsilon < 1) || !(spread >= 0)) {
    throw std::invalid_argument(
        "certify_normalised: need finite inputs of the head's width, at least one item, spread >= 0 and epsilon in "
        "(0, 1)");
  }
  const std::string claim = "theorem_2_2.normalised";
  const std::string witness = describe(head, query_input, inputs);
  const double copies = [&] {
    const numerics::PrecisionScope scope(113);
    return copies_beyond(dispersion_length_sharp(Enclosure(spread), Enclosure(1), Enclosure(epsilon)));
  }();
  return {
      certify_less_equal(claim, witness,
                         [&] {
                           return Sides{largest_difference(logits_of(head, query_input, inputs)), Enclosure(spread)};
                         }),
      certify_less(claim, "epsilon " + numerics::hex_float(epsilon) + " " + witness, [&] {
        const Vector logits = logits_of(head, query_input, inputs);
        // Coefficients relative to each item's own logit: e^(e_j - e_k) neither overflows nor cancels.
        Enclosure largest;
        for (std::size_t k = 0; k < logits.size(); ++k) {
          Enclosure sum;
          for (std::size_t j = 0; j < logits.size(); ++j) {
            const Enclosure weight = j == k ? Enclosure(1) : exp(logits[j] - logits[k]);
            sum += j == 0 ? Enclosure(copies) * weight : weight;
          }
          largest = maximum(largest, Enclosure(1) / sum);
        }
        return Sides{largest, Enclosure(epsilon)};
      })};
}

}  // namespace softcheck::theory

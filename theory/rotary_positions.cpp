#include "theory/rotary_positions.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "theory/level_row.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_agreement;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

using Vector = std::vector<Enclosure>;

void require_planes(const char* function, const std::vector<Plane>& planes, std::size_t width) {
  std::vector<bool> met(width, false);
  const auto meet = [&](std::size_t coordinate) {
    if (coordinate >= width || met[coordinate]) return false;
    met[coordinate] = true;
    return true;
  };
  for (const Plane& plane : planes) {
    if (meet(plane.first) && (plane.second == plane.first || meet(plane.second))) continue;
    throw std::invalid_argument(std::string(function) + ": need planes of different coordinates below " +
                                std::to_string(width) + ", got (" + std::to_string(plane.first) + ", " +
                                std::to_string(plane.second) + ")");
  }
  if (std::find(met.begin(), met.end(), false) != met.end()) {
    throw std::invalid_argument(std::string(function) + ": need every coordinate in a plane, got one in none");
  }
}

void require_rotary(const char* function, const RotaryHead& head) {
  require_ball_head(function, head.head);
  require_planes(function, head.planes, static_cast<std::size_t>(head.head.at.query.rows()));
  const auto positive = [](double weight) { return weight > 0 && std::isfinite(weight); };
  if (head.weights.size() != head.planes.size() || !std::all_of(head.weights.begin(), head.weights.end(), positive)) {
    throw std::invalid_argument(std::string(function) + ": need one weight > 0 a plane");
  }
}

Vector turned(const std::vector<Plane>& planes, const TurnsOfItem& turns, std::size_t item, const Vector& x) {
  return rotate<Enclosure>(planes, turns(item), x);
}

// E or E^(-1) by its diagonal.
Vector diagonal(const RotaryHead& head, bool inverse) {
  Vector result(static_cast<std::size_t>(head.head.at.query.rows()));
  for (std::size_t p = 0; p < head.planes.size(); ++p) {
    const Enclosure weight = inverse ? Enclosure(1) / Enclosure(head.weights[p]) : Enclosure(head.weights[p]);
    result[head.planes[p].first] = result[head.planes[p].second] = weight;
  }
  return result;
}

Enclosure weighed_square(const Vector& weights, const Vector& x) {
  Enclosure sum;
  for (std::size_t i = 0; i < x.size(); ++i) sum += weights[i] * square(x[i]);
  return sum;
}

// Upper bounds of max |E^(-1/2) q|^2 and max |E^(1/2) k|^2, made once.
struct RotarySquares {
  RotarySquares(const RotaryHead& rotary, double t, const SigmaUpper& sigma) {
    const numerics::PrecisionScope scope(113);
    const Eigen::Index width = rotary.head.at.query.rows();
    const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(width, width);
    query = largest_square(rotary.head.query_ball(), {identity, diagonal(rotary, true)}, t, sigma);
    key = largest_square(rotary.head.key_ball(), {identity, diagonal(rotary, false)}, t, sigma);
  }

  double query, key;
};

// The query and the scores u . R_j k_j at one precision.
struct RotaryTerms {
  explicit RotaryTerms(const RotaryHead& rotary) {
    const QueryAndItems& at = rotary.head.at;
    query = add(multiply(at.query, as_scalars<Enclosure>(at.y)), as_scalars<Enclosure>(at.query_bias));
    for (Eigen::Index j = 0; j < at.items.rows(); ++j) {
      const Vector key =
          add(multiply(at.key, as_scalars<Enclosure>(at.items.row(j).transpose())), as_scalars<Enclosure>(at.key_bias));
      scores.push_back(dot(query, turned(rotary.planes, rotary.turns, static_cast<std::size_t>(j), key)));
    }
  }

  Enclosure largest_score() const {
    Enclosure largest;
    for (const Enclosure& score : scores) largest = maximum(largest, abs(score));
    return largest;
  }

  Vector query, scores;
};

// s observed <= s sqrt(bound_square), the gap without s.
Sides below_root_of(const Enclosure& scale, const Enclosure& observed, const Enclosure& bound_square) {
  return {scale * observed, scale * sqrt(bound_square), root_difference(bound_square, square(observed))};
}

std::vector<Plane> planes_of(const char* function, std::size_t width, std::size_t rotated, bool interleaved) {
  if (rotated % 2 != 0 || rotated > width) {
    throw std::invalid_argument(std::string(function) + ": need an even number of rotated coordinates, at most " +
                                std::to_string(width) + ", got " + std::to_string(rotated));
  }
  std::vector<Plane> planes;
  for (std::size_t p = 0; p < rotated / 2; ++p) {
    planes.push_back(interleaved ? Plane{2 * p, 2 * p + 1} : Plane{p, p + rotated / 2});
  }
  for (std::size_t i = rotated; i < width; ++i) planes.push_back({i, i});
  return planes;
}

std::string witness_of(const RotaryHead& rotary) {
  std::string text = describe(rotary.head.at) + " scale " + numerics::hex_float(rotary.head.scale) + " weights";
  for (const double weight : rotary.weights) text += " " + numerics::hex_float(weight);
  return text;
}

}  // namespace

std::vector<Plane> half_split_planes(std::size_t width, std::size_t rotated) {
  return planes_of("half_split_planes", width, rotated, false);
}

std::vector<Plane> interleaved_planes(std::size_t width, std::size_t rotated) {
  return planes_of("interleaved_planes", width, rotated, true);
}

std::vector<Certificate> certify_isometry(const RotaryHead& rotary) {
  require_rotary("certify_isometry", rotary);
  std::vector<Certificate> result;
  for (Eigen::Index j = 0; j < rotary.head.at.items.rows(); ++j) {
    const std::string witness = "item " + std::to_string(j) + " " + witness_of(rotary);
    result.push_back(certify_agreement("rotary_positions.isometry", witness, [&] {
      const Vector query = RotaryTerms(rotary).query, weights = diagonal(rotary, false);
      const auto length = [&](const Vector& x) {
        Enclosure sum;
        for (std::size_t i = 0; i < x.size(); ++i) sum += square(weights[i] * x[i]);
        return sqrt(sum);
      };
      return Sides{length(turned(rotary.planes, rotary.turns, static_cast<std::size_t>(j), query)), length(query)};
    }));
  }
  return result;
}

std::vector<Certificate> certify_rotary_logit(const RotaryHead& rotary, double t, const SigmaUpper& sigma) {
  require_rotary("certify_rotary_logit", rotary);
  const std::string claim = "rotary_positions.logit";
  const std::string witness = "t " + numerics::hex_float(t) + " " + witness_of(rotary);
  const RotarySquares squares(rotary, t, sigma);
  auto terms = at_each_precision([&] { return RotaryTerms(rotary); });
  const auto scale = [&] { return Enclosure(rotary.head.scale); };
  return {certify_less_equal(claim, "one query " + witness,
                             [&] {
                               // u^T S u with S = lambda_key E^(-1).
                               const Enclosure of_query = weighed_square(diagonal(rotary, true), terms().query);
                               return below_root_of(scale(), terms().largest_score(),
                                                    Enclosure(squares.key) * of_query);
                             }),
          certify_less_equal(claim, "all queries " + witness, [&] {
            const Enclosure bound_square = Enclosure(squares.query) * Enclosure(squares.key);
            Sides sides = below_root_of(scale(), terms().largest_score(), bound_square);
            sides.right = rotary_logit(scale(), Enclosure(squares.query), Enclosure(squares.key));
            return sides;
          })};
}

std::vector<Certificate> certify_rotary_spread(const RotaryHead& rotary, double t, const SigmaUpper& sigma) {
  require_rotary("certify_rotary_spread", rotary);
  const std::string claim = "rotary_positions.spread";
  const RotarySquares squares(rotary, t, sigma);
  const double sigma_query = sigma(rotary.head.at.query), sigma_key = sigma(rotary.head.at.key);
  auto terms = at_each_precision([&] { return RotaryTerms(rotary); });
  const auto spread = [&] { return largest_difference(terms().scores); };
  return {certify_less_equal(claim, "t " + numerics::hex_float(t) + " " + witness_of(rotary),
                             [&] {
                               const Enclosure scale(rotary.head.scale), query(squares.query), key(squares.key);
                               Sides sides = below_root_of(scale, spread(), Enclosure(4) * query * key);
                               sides.right = rotary_spread(scale, query, key);
                               return sides;
                             }),
          certify_less_equal(claim, "folded " + witness_of(rotary), [&] {
            const Enclosure scale(rotary.head.scale), query(sigma_query), key(sigma_key);
            const Enclosure rq(rotary.head.query_square), rk(rotary.head.key_square);
            const Enclosure query_bias = norm_square(as_scalars<Enclosure>(rotary.head.at.query_bias));
            const Enclosure key_bias = norm_square(as_scalars<Enclosure>(rotary.head.at.key_bias));
            const Enclosure bound_square =
                Enclosure(4) * sum_square(query, rq, query_bias) * sum_square(key, rk, key_bias);
            Sides sides = below_root_of(scale, spread(), bound_square);
            sides.right = rotary_folded_spread(scale, query, key, sqrt(query_bias), sqrt(key_bias), rq, rk);
            return sides;
          })};
}

Certificate certify_qk_norm(const QkNormHead& head) {
  const std::size_t width = head.query_gains.size();
  require_planes("certify_qk_norm", head.planes, width);
  const auto enclosed = [](const std::vector<double>& x) {
    return as_scalars<Enclosure>(Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size())));
  };
  const auto inside = [&](const std::vector<double>& x, double radius_square) {
    const numerics::PrecisionScope scope(512);
    return x.size() == width && norm_square(enclosed(x)).upper_double() <= radius_square;
  };
  bool fit = head.key_gains.size() == width && inside(head.query, head.query_square) && !head.keys.empty();
  for (const std::vector<double>& key : head.keys) fit = fit && inside(key, head.key_square);
  if (!fit || !(head.scale > 0)) {
    throw std::invalid_argument("certify_qk_norm: need gains, query and keys of one width, in their balls, scale > 0");
  }
  std::string witness = "scale " + numerics::hex_float(head.scale);
  const auto tell = [&](const char* name, const std::vector<double>& x) {
    witness += std::string(" ") + name;
    for (const double entry : x) witness += " " + numerics::hex_float(entry);
  };
  tell("query gains", head.query_gains);
  tell("key gains", head.key_gains);
  tell("query", head.query);
  for (const std::vector<double>& key : head.keys) tell("key", key);
  return certify_less_equal("rotary_positions.qk_norm", witness, [&] {
    const auto gained = [&](const std::vector<double>& gains, const std::vector<double>& x) {
      Vector result = enclosed(gains);
      for (std::size_t i = 0; i < result.size(); ++i) result[i] *= Enclosure(x[i]);
      return result;
    };
    const Vector query = gained(head.query_gains, head.query);
    Enclosure largest;
    for (std::size_t j = 0; j < head.keys.size(); ++j) {
      const Vector key = gained(head.key_gains, head.keys[j]);
      largest = maximum(largest, abs(dot(query, turned(head.planes, head.turns, j, key))));
    }
    const Enclosure rq(head.query_square), rk(head.key_square), scale(head.scale);
    const Enclosure gain =
        largest_plane_gain<Enclosure>(head.planes, enclosed(head.query_gains), enclosed(head.key_gains));
    Sides sides = below_root_of(scale, largest, rq * rk * square(gain));
    sides.right = qk_norm_logit(scale, rq, rk, gain);
    return sides;
  });
}

}  // namespace softcheck::theory

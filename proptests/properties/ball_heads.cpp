#include "proptests/properties/ball_heads.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "proptests/generators/text/case_text.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Enclosure;
using theory::BallHead;
using theory::Plane;
using theory::QkNormHead;
using theory::QueryAndItems;
using theory::RotaryHead;
using Turns = std::vector<theory::Turn<Enclosure>>;

void turn_to_the_keys(QueryAndItems& input) {
  constexpr int steps = 32;
  const double length = input.y.norm() > 0 ? input.y.norm() : 1;
  for (int step = 0; step < steps; ++step) {
    const Eigen::VectorXd seen = input.key.transpose() * (input.query * input.y + input.query_bias);
    const Eigen::VectorXd next = input.query.transpose() * (input.key * seen);
    if (!(next.norm() > 0)) break;
    input.y = next * (length / next.norm());
  }
  input.y = shortened(input.y);
}

// sqrt(tr_p G_A / tr_p G_B) per plane, rounded to a power of two: its inverse is exact, and ties are decided.
std::vector<double> balancing_weights(const BallHead& head, const std::vector<Plane>& planes) {
  const auto row_square = [](const theory::AffineBall& ball, std::size_t i) {
    const auto row = static_cast<Eigen::Index>(i);
    return ball.radius_square * ball.matrix.row(row).squaredNorm() + ball.offset(row) * ball.offset(row);
  };
  std::vector<double> weights;
  for (const Plane& plane : planes) {
    const auto trace = [&](const theory::AffineBall& ball) {
      return row_square(ball, plane.first) + row_square(ball, plane.second);
    };
    const double ratio = std::sqrt(trace(head.query_ball()) / trace(head.key_ball()));
    weights.push_back(std::isfinite(ratio) && ratio > 0 ? round_to_bits(std::clamp(ratio, 0x1p-20, 0x1p+20), 1) : 1);
  }
  return weights;
}

Turns quarter_turns(std::size_t planes) { return Turns(planes, {Enclosure(0), Enclosure(1)}); }

std::vector<double> as_list(const Eigen::VectorXd& x) { return {x.begin(), x.end()}; }

// The coordinate of the plane with the larger gain.
std::size_t largest_in(const Plane& plane, const std::vector<double>& gains) {
  return std::abs(gains[plane.first]) < std::abs(gains[plane.second]) ? plane.second : plane.first;
}

std::vector<double> unit(std::size_t width, std::size_t at) {
  std::vector<double> result(width, 0.0);
  result[at] = 1;
  return result;
}

double largest_norm_square(const std::vector<std::vector<double>>& vectors) {
  const numerics::PrecisionScope scope(512);
  double largest = 0;
  for (const std::vector<double>& x : vectors) {
    Enclosure sum;
    for (const double entry : x) sum += square(Enclosure(entry));
    largest = std::max(largest, sum.upper_double());
  }
  return largest;
}

}  // namespace

rc::Gen<ProjectionCase> ball_head_cases() {
  ProjectionOptions options;
  options.max_dimension = 8;
  options.max_width = 8;
  options.max_items = 6;
  return projection_cases(options);
}

std::vector<BallHead> ball_heads(const ProjectionCase& projection) {
  std::vector<QueryAndItems> inputs = with_near_extremal(projection);
  QueryAndItems worst = inputs.front();
  turn_to_the_keys(worst);
  oppose_items(worst);
  inputs.push_back(std::move(worst));
  std::vector<BallHead> heads;
  for (QueryAndItems& input : inputs) {
    const double scale = 1 / std::sqrt(static_cast<double>(input.query.rows()));
    heads.push_back(theory::in_smallest_balls(std::move(input), scale));
  }
  return heads;
}

double balanced_t(const BallHead& head) {
  const Eigen::MatrixXd joint = head.at.key.transpose() * head.at.query;
  const double constant = (head.at.key.transpose() * head.at.query_bias).norm();
  const double t = round_to_bits(std::sqrt(head.query_square) * joint.norm() / constant, 8);
  return t > 0 && std::isfinite(t) ? t : 1;
}

Turns turns_at_lag(std::size_t planes, unsigned lag) {
  Turns turns;
  for (std::size_t p = 0; p < planes; ++p) {
    const Enclosure tangent = Enclosure::power_of_two(-static_cast<long>(p));
    const Enclosure whole = 1 + square(tangent);
    const Enclosure cosine = (1 - square(tangent)) / whole, sine = 2 * tangent / whole;
    theory::Turn<Enclosure> turn{Enclosure(1), Enclosure(0)};
    for (unsigned step = 0; step < lag; ++step) {
      turn = {turn.cosine * cosine - turn.sine * sine, turn.sine * cosine + turn.cosine * sine};
    }
    turns.push_back(turn);
  }
  return turns;
}

std::vector<RotaryHead> rotary_heads(const ProjectionCase& projection) {
  const std::size_t width = projection.query.rows, rotated = width - width % 2;
  const auto planes = projection.items.rows % 2 == 0 ? theory::half_split_planes(width, rotated)
                                                     : theory::interleaved_planes(width, rotated);
  const std::size_t count = planes.size();
  const std::array<theory::TurnsOfItem, 3> ways{
      [count](std::size_t item) { return turns_at_lag(count, static_cast<unsigned>(item)); },
      [count](std::size_t) { return turns_at_lag(count, 0); }, [count](std::size_t) { return quarter_turns(count); }};
  std::vector<RotaryHead> heads;
  for (const BallHead& head : ball_heads(projection)) {
    for (const theory::TurnsOfItem& turns : ways) {
      heads.push_back({head, planes, turns, balancing_weights(head, planes)});
    }
  }
  return heads;
}

std::vector<QkNormHead> qk_norm_heads(const ProjectionCase& projection) {
  const RotaryHead rotary = rotary_heads(projection).front();
  const QueryAndItems& at = rotary.head.at;
  QkNormHead drawn;
  drawn.query_gains = as_list(at.query.col(0));
  drawn.key_gains = as_list(at.key.col(0));
  drawn.query = as_list(at.query * at.y);
  for (Eigen::Index j = 0; j < at.items.rows(); ++j) {
    drawn.keys.push_back(as_list(at.key * at.items.row(j).transpose()));
  }
  drawn.scale = rotary.head.scale;
  drawn.planes = rotary.planes;
  drawn.turns = rotary.turns;
  const auto gain = [&](const Plane& plane) {
    return std::abs(drawn.query_gains[largest_in(plane, drawn.query_gains)] *
                    drawn.key_gains[largest_in(plane, drawn.key_gains)]);
  };
  const Plane best = *std::ranges::max_element(drawn.planes, {}, gain);
  const std::size_t first = largest_in(best, drawn.query_gains), second = largest_in(best, drawn.key_gains);
  QkNormHead attained = drawn;
  attained.query = unit(drawn.query_gains.size(), first);
  attained.keys = {unit(drawn.query_gains.size(), second)};
  const std::size_t planes = drawn.planes.size();
  attained.turns = [planes, same = first == second](std::size_t) {
    return same ? turns_at_lag(planes, 0) : quarter_turns(planes);
  };
  std::vector<QkNormHead> heads{std::move(drawn), std::move(attained)};
  for (QkNormHead& head : heads) {
    head.query_square = largest_norm_square({head.query});
    head.key_square = largest_norm_square(head.keys);
  }
  return heads;
}

}  // namespace softcheck::proptests

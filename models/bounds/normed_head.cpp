#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "models/bounds/affine_image.hpp"
#include "models/bounds/head_bounds.hpp"
#include "models/bounds/plane_weights.hpp"
#include "theory/rotary_positions.hpp"

namespace softcheck::models {
namespace {

// q = w_q n and k = w_k n' coordinate by coordinate, |n|^2 <= rq, |n'|^2 <= rk. At a lag the planes do not mix: q . R k
// is n^T M n' with a block M = diag(a, b) R(angle) diag(c, d) for each plane, and the largest |q . R k| is
// sqrt(rq rk) max sigma(M). With x = sin(angle)^2 such a block has
//   |M|_F^2 = (a c)^2 + (b d)^2 + x ((a d)^2 + (b c)^2 - (a c)^2 - (b d)^2),  det M = a b c d,
//   sigma^2 = (|M|_F^2 + sqrt(|M|_F^4 - 4 det^2)) / 2,
// which grows with |M|_F. So of all lags the one with the largest x counts, or lag 0, and over every angle sigma is
// max(|a|, |b|) max(|c|, |d|).

// Beyond so many lags every angle counts as reached.
constexpr std::int64_t most_lags = std::int64_t{1} << 17;

// The lags 1 ... lags - 1 whose sin^2 is the largest or, turned round, the least, and how far it can be above.
struct TurnedLags {
  std::int64_t first = 0, second = 0;  // 0: there is none
  double largest_square = 0;           // upper bound of sin^2
};

TurnedLags search_lags(const Enclosure& frequency, std::int64_t lags, bool towards_quarter) {
  const double middle = frequency.midpoint();
  const std::int64_t searched = std::min(lags, most_lags);
  TurnedLags result;
  double best = -1, next = -1, largest = 0;
  for (std::int64_t lag = 1; lag < searched; ++lag) {
    const double sine = std::sin(static_cast<double>(lag) * middle), square = sine * sine;
    largest = std::max(largest, square);
    const double value = towards_quarter ? square : 1 - square;
    if (value > best) {
      result.second = std::exchange(result.first, lag);
      next = std::exchange(best, value);
    } else if (value > next) {
      result.second = lag;
      next = value;
    }
  }
  // sin^2 moves no more than its angle, which is off by 2 u of itself and the lag times the frequency's width; sine and
  // square are each within 2 u of their size.
  const double width = frequency.upper_double() - frequency.lower_double();
  const auto distance = static_cast<double>(lags);
  const double off = distance * (std::fabs(middle) * 0x1p-51 + 2 * width) + 0x1p-50;
  result.largest_square = lags > most_lags ? 1 : std::min(1.0, largest + off);
  return result;
}

/// The part of a head in one plane of one list of frequencies, n of length 1 on both sides.
class NormedPlane {
 public:
  /// frequency  none: the plane is one coordinate, or is not turned
  NormedPlane(const ProjectionValues& query, const ProjectionValues& key, const theory::Plane& plane,
              const Enclosure* frequency)
      : turned_(frequency != nullptr && plane.first != plane.second) {
    a_ = query.gains(static_cast<Index>(plane.first), 0);
    c_ = key.gains(static_cast<Index>(plane.first), 0);
    if (plane.first != plane.second) {
      b_ = query.gains(static_cast<Index>(plane.second), 0);
      d_ = key.gains(static_cast<Index>(plane.second), 0);
    }
    if (turned_) frequency_ = *frequency;
    const Enclosure of_query = maximum(abs(a_), abs(b_)), of_key = maximum(abs(c_), abs(d_));
    of_all_lags_ = (of_query * of_key).upper_double();
  }

  double of_all_lags() const { return of_all_lags_; }

  /// No block's sigma is above at lags 0 ... lags - 1, of either sign.
  double of_lags(std::int64_t lags) const {
    if (!turned_ || !towards_quarter()) return of_all_lags_;
    const Enclosure x(search_lags(frequency_, lags, true).largest_square);
    const Enclosure straight = square(a_ * c_) + square(b_ * d_), crossed = square(a_ * d_) + square(b_ * c_);
    const Enclosure norm = straight + maximum(crossed - straight, Enclosure(0)) * x;
    const Enclosure root = nonnegative_root(square(norm) - Enclosure(4) * square(a_ * b_ * c_ * d_));
    return std::min(of_all_lags_, sqrt((norm + root) / Enclosure(2)).upper_double());
  }

  /// A query and two keys of opposite signs at two of the lags 1 ... lags - 1: how large q . R k is at each.
  struct Reached {
    Enclosure first, second;
    bool two_lags = false;
  };
  std::optional<Reached> reach(std::int64_t lags) const {
    if (!turned_) {
      const Enclosure first = abs(a_ * c_), other = abs(b_ * d_);
      const Enclosure& larger = other.midpoint() > first.midpoint() ? other : first;
      return Reached{larger, larger, lags > 2};
    }
    const TurnedLags found = search_lags(frequency_, lags, towards_quarter());
    if (found.first == 0) return std::nullopt;
    // The block's left singular vector at the first lag.
    const double angle = static_cast<double>(found.first) * frequency_.midpoint(), c = std::cos(angle),
                 s = std::sin(angle);
    Eigen::Matrix2d block;
    block << a_.midpoint() * c * c_.midpoint(), -a_.midpoint() * s * d_.midpoint(), b_.midpoint() * s * c_.midpoint(),
        b_.midpoint() * c * d_.midpoint();
    const Eigen::Matrix2d square_of_block = block * block.transpose();
    const double slope = std::atan2(2 * square_of_block(0, 1), square_of_block(0, 0) - square_of_block(1, 1)) / 2;
    const Enclosure x(std::cos(slope)), y(std::sin(slope));
    const Enclosure length = sqrt(square(x) + square(y));
    const auto at = [&](std::int64_t lag) {
      const Enclosure turn = Enclosure(lag) * frequency_, cosine = cos(turn), sine = sin(turn);
      const Enclosure u = a_ * x, v = b_ * y;
      return sqrt(square(c_ * (cosine * u + sine * v)) + square(d_ * (cosine * v - sine * u))) / length;
    };
    if (found.second == 0) return Reached{at(found.first), Enclosure(0), false};
    return Reached{at(found.first), at(found.second), true};
  }

 private:
  // Whether the block grows as the angle nears a quarter turn.
  bool towards_quarter() const {
    return !((square(a_) - square(b_)) * (square(c_) - square(d_))).certainly_nonnegative();
  }

  bool turned_;
  Enclosure a_, b_, c_, d_, frequency_;
  double of_all_lags_ = 0;
};

/// By list of frequencies the planes, those with the largest gain first.
std::vector<std::vector<NormedPlane>> planes_of_head(const ProjectionValues& query, const ProjectionValues& key,
                                                     const Rotary* rotary) {
  const Index width = query.gains.rows();
  const std::vector<theory::Plane> planes =
      rotary != nullptr ? planes_of(*rotary, width) : theory::half_split_planes(static_cast<std::size_t>(width), 0);
  const std::vector<std::vector<Enclosure>> still(1);
  std::vector<std::vector<NormedPlane>> lists;
  for (const std::vector<Enclosure>& frequencies : rotary != nullptr ? rotary->frequencies : still) {
    std::vector<NormedPlane>& list = lists.emplace_back();
    for (std::size_t p = 0; p < planes.size(); ++p) {
      list.emplace_back(query, key, planes[p], p < frequencies.size() ? &frequencies[p] : nullptr);
    }
    std::ranges::stable_sort(list, std::greater(), &NormedPlane::of_all_lags);
  }
  return lists;
}

}  // namespace

double largest_normed_logit(const ProjectionValues& query, const ProjectionValues& key, const Enclosure& scale,
                            const Rotary* rotary, std::int64_t lags) {
  double largest = 0;
  for (const std::vector<NormedPlane>& list : planes_of_head(query, key, rotary)) {
    for (const NormedPlane& plane : list) {
      if (plane.of_all_lags() <= largest) break;
      largest = std::max(largest, plane.of_lags(lags));
    }
  }
  return theory::qk_norm_logit(scale, Enclosure(query.image.radius_square), Enclosure(key.image.radius_square),
                               Enclosure(largest))
      .upper_double();
}

HeadBounds bound_normed_head(const ProjectionValues& query, const ProjectionValues& key, const Enclosure& scale,
                             const Rotary* rotary, std::int64_t lags) {
  const Enclosure rq(query.image.radius_square), rk(key.image.radius_square);
  const std::vector<std::vector<NormedPlane>> lists = planes_of_head(query, key, rotary);
  HeadBounds bounds;
  bounds.product = bounds.folded = theory::qk_norm_spread(scale, rq, rk, query.sigma * key.sigma);
  std::vector<Enclosure> of_query, of_key;
  for (Index i = 0; i < query.gains.rows(); ++i) {
    of_query.push_back(query.gains(i, 0));
    of_key.push_back(key.gains(i, 0));
  }
  const std::vector<theory::Plane> planes =
      rotary != nullptr ? planes_of(*rotary, query.gains.rows()) : theory::half_split_planes(of_query.size(), 0);
  bounds.joint = theory::qk_norm_spread(scale, rq, rk, theory::largest_plane_gain<Enclosure>(planes, of_query, of_key));
  bounds.logit.upper = (bounds.joint / Enclosure(2)).upper_double();
  bounds.spread.upper = 2 * bounds.logit.upper;

  // Of several lists the last is that of long inputs, which have every lag.
  std::optional<NormedPlane::Reached> widest, largest;
  double width = 0, size = 0;
  for (const NormedPlane& plane : lists.back()) {
    if (2 * plane.of_all_lags() <= width && plane.of_all_lags() <= size) break;
    const std::optional<NormedPlane::Reached> reached = plane.reach(lags);
    if (!reached) continue;
    const double first = reached->first.lower_double();
    if (first > size) largest = reached, size = first;
    const double both = first + reached->second.lower_double();
    if (reached->two_lags && both > width) widest = reached, width = both;
  }
  const Enclosure factor = theory::qk_norm_logit(scale, rq, rk, Enclosure(1));
  if (widest) {
    bounds.attained_high = (factor * widest->first).lower_double();
    bounds.attained_low = -(factor * widest->second).lower_double();
    bounds.spread.lower = std::max((factor * (widest->first + widest->second)).lower_double(), 0.0);
  }
  if (largest) bounds.logit.lower = std::max((factor * largest->first).lower_double(), 0.0);
  return bounds;
}

}  // namespace softcheck::models

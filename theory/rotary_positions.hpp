#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/norm_ellipsoid.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

// Rotary positions (RoPE) rotate the query at position i and the key at position j plane by plane. Their logit depends
// only on the lag m = j - i: e = s q . R_m k, where R_m is a rotation in each plane and the identity on coordinates
// that are not rotated. All statements here hold for every rotation: all lags, all frequencies and all ways of scaling
// them.
//
// A diagonal matrix with one weight a plane commutes with every R_m. Hence, with S of that kind,
//   S >= G(t) = (1 + t) b b^T + (1 + 1/t) rk B B^T   gives   |u . R_m k| <= |S^(1/2) u|     at every lag,
// since |v . k|^2 <= v^T G v <= v^T S v with v = R_m^T u (norm_ellipsoid.hpp) and v^T S v = u^T S u. Two logits of one
// query differ by at most twice that. For weights E = diag(e_p), one a plane, S = lambda_key E^(-1) is such a matrix
// with lambda_key >= max |E^(1/2) k|^2 over all keys, and with lambda_query >= max |E^(-1/2) q|^2 over all queries
//   |e| <= s sqrt(lambda_query lambda_key),
// both of them by largest_square(). Every E > 0 is valid; E = I, with one sigma for each of A and B, is the folded
// form.
//
// The coordinates that no R_m rotates may be taken in any basis: q . R_m k = (T^T q) . R_m (T^-1 k) for a T that is the
// identity on the others.

/// Two coordinates that are rotated together; first == second: one coordinate that is not rotated.
struct Plane {
  std::size_t first;
  std::size_t second;
};

/// Planes (p, p + rotated/2), as Llama has them, then the width - rotated other coordinates one by one.
///
/// rotated  even, <= width          throws   std::invalid_argument
std::vector<Plane> half_split_planes(std::size_t width, std::size_t rotated);
/// Planes (2p, 2p + 1), as GPT-J has them, then the others.
std::vector<Plane> interleaved_planes(std::size_t width, std::size_t rotated);

/// cosine^2 + sine^2 = 1
template <Scalar T>
struct Turn {
  T cosine, sine;
};

/// R x, turns (planes).
template <Scalar T>
std::vector<T> rotate(std::span<const Plane> planes, std::span<const Turn<T>> turns, std::vector<T> x) {
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const auto [first, second] = planes[p];
    if (first == second) continue;
    const T turned = turns[p].cosine * x[first] - turns[p].sine * x[second];
    x[second] = turns[p].sine * x[first] + turns[p].cosine * x[second];
    x[first] = turned;
  }
  return x;
}

/// s sqrt(lambda_query lambda_key): the largest |logit| at any lag; twice that is the largest spread.
template <Scalar T>
T rotary_logit(const T& s, const T& lambda_query, const T& lambda_key) {
  return s * sqrt(lambda_query * lambda_key);
}
template <Scalar T>
T rotary_spread(const T& s, const T& lambda_query, const T& lambda_key) {
  return T(2) * rotary_logit(s, lambda_query, lambda_key);
}

/// The folded form with rotary positions: a turned key bias does not cancel. key_bias_norm |b|.
template <Scalar T>
T rotary_folded_spread(const T& s, const T& sigma_query, const T& sigma_key, const T& query_bias_norm,
                       const T& key_bias_norm, const T& rq, const T& rk) {
  return T(2) * s * (sigma_query * sqrt(rq) + query_bias_norm) * (sigma_key * sqrt(rk) + key_bias_norm);
}

/// Heads with a norm on q and k themselves (QK-norm: Qwen3, Gemma 3): q = w_q n, |n|^2 <= rq, k = w_k n', |n'|^2 <= rk,
/// both coordinate by coordinate. Then |e| <= s sqrt(rq rk) gain, gain = max over the planes of
/// (max |w_q| in the plane) (max |w_k| in the plane); without rotary positions every coordinate is a plane.
template <Scalar T>
T qk_norm_logit(const T& s, const T& rq, const T& rk, const T& gain) {
  return s * sqrt(rq * rk) * gain;
}
template <Scalar T>
T qk_norm_spread(const T& s, const T& rq, const T& rk, const T& gain) {
  return T(2) * qk_norm_logit(s, rq, rk, gain);
}

/// max over planes of (max |w_q| in the plane) (max |w_k| in the plane).
///
/// query_gains, key_gains   (width): w_q and w_k
template <Scalar T>
T largest_plane_gain(std::span<const Plane> planes, const std::vector<T>& query_gains,
                     const std::vector<T>& key_gains) {
  const auto magnitude_in = [](const Plane& plane, const std::vector<T>& gains) {
    const T& x = gains[plane.first];
    const T& y = gains[plane.second];
    return maximum(maximum(x, -x), maximum(y, -y));
  };
  T largest = T(0);
  for (const Plane& plane : planes) {
    largest = maximum(largest, magnitude_in(plane, query_gains) * magnitude_in(plane, key_gains));
  }
  return largest;
}

/// The turns of item j in every plane, at the working precision of the moment.
using TurnsOfItem = std::function<std::vector<Turn<numerics::Enclosure>>(std::size_t item)>;

/// A head with rotary positions: item j's key is turned by turns(j).
struct RotaryHead {
  BallHead head;
  std::vector<Plane> planes;
  TurnsOfItem turns;
  std::vector<double> weights;  // (planes) e_p > 0, the entries of E
};

/// rotary_positions.isometry: |W R_j u| = |W u| with W = diag(weights), for each item's turn.
std::vector<numerics::Certificate> certify_isometry(const RotaryHead& head);

/// rotary_positions.logit, twice: every |e_j| is at most s |S^(1/2) u|, and at most rotary_logit for all queries.
///
/// t        > 0, of both ellipsoids
std::vector<numerics::Certificate> certify_rotary_logit(const RotaryHead& head, double t,
                                                        const SigmaUpper& sigma = certified_sigma());

/// rotary_positions.spread, twice: the spread of the items' logits is at most rotary_spread and rotary_folded_spread.
std::vector<numerics::Certificate> certify_rotary_spread(const RotaryHead& head, double t,
                                                         const SigmaUpper& sigma = certified_sigma());

/// q = w_q n and k_j = w_k n_j, coordinate by coordinate, the keys turned.
struct QkNormHead {
  std::vector<double> query_gains, key_gains;  // (width) w_q, w_k
  std::vector<double> query;                   // (width) n
  std::vector<std::vector<double>> keys;       // (items, width) n_j
  double scale = 1;                            // s > 0
  double query_square = 0, key_square = 0;     // rq >= |n|^2, rk >= |n_j|^2
  std::vector<Plane> planes;
  TurnsOfItem turns;
};

/// rotary_positions.qk_norm: every |e_j| is at most qk_norm_logit.
numerics::Certificate certify_qk_norm(const QkNormHead& head);

}  // namespace softcheck::theory

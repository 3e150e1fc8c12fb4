// Causal attention over packed texts, and its gradient, over any scalar. A weight is [x/2 - t]_+^2 of a score x, with
// the threshold t at which a row's weights sum to 1 (Peters, Niculae and Martins 2019). Included by every lane, without
// the standard library's templates: they would be shared with other instructions.
#include <Eigen/Core>
#include <cmath>
#include <cstdint>

#include "experiments/language/language_layout.hpp"

namespace softcheck::experiments {
namespace {

/// Texts of any lengths, one after the other. projected (3 width, tokens), a token contiguous, has queries, keys and
/// values of all heads.
struct PackedTexts {
  LanguageShape shape;
  const std::int64_t* begins = nullptr;  // (texts + 1)
  int texts = 0;
};

template <class Scalar>
using RootMatrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using RootView = Eigen::Map<const RootMatrix<Scalar>>;

inline constexpr Eigen::Index root_queries = 64;  // at a time: their scores stay in the cache

/// Replaces the scores of a row by roots of its weights, [x/2 - t]_+.
///
/// Newton's steps from below: the sum of squares is convex and falls, so that no step passes its root. There the slope
/// is at least 2 in size, as roots of at most 1 sum to at least 1. In unit roundoff u and to first order, t is too
/// large by at most (n + 6) u: the sum and its slope err by (n + 3) u each, of which a step of at most 1/2 takes half,
/// and x/2 less its maximum, t, and the step's own operations add 3 u. It is too small by at most ((n + 3)/2 + sqrt n +
/// 1) u, where the last step no longer moves it: the sum exceeds 1 by at most the slope, 2 sqrt n, times u.
template <class Row, class Scalar>
void weight_roots(Row row, RootMatrix<Scalar>& above) {
  row = (row.array() / Scalar(2) - row.maxCoeff() / Scalar(2)).matrix();
  auto roots = above.col(0).head(row.size());
  Scalar t, next(-1);
  do {
    t = next;
    roots = (row.array() - t).max(Scalar(0)).matrix();
    next = t + (roots.squaredNorm() - Scalar(1)) / (Scalar(2) * roots.sum());
  } while (next > t);
  row = roots;
}

/// Calls visit(head, first, keys, queries, roots) for every head of every text and all its queries, at most
/// root_queries at a time: queries begin at token `first + keys - queries`, keys at `first`, and roots (keys,
/// queries) are 0 of keys that a query does not see.
template <class Scalar, class Visit>
void for_each_roots(const PackedTexts& texts, const Scalar* projected, RootMatrix<Scalar>& roots, Visit visit) {
  using std::sqrt;
  const Eigen::Index d = texts.shape.width, dim = texts.shape.head_width();
  const RootView<Scalar> all(projected, 3 * d, texts.begins[texts.texts]);
  const Scalar scale = Scalar(1) / sqrt(Scalar(static_cast<double>(dim)));
  RootMatrix<Scalar> above;
  for (int text = 0; text < texts.texts; ++text) {
    const Eigen::Index first = texts.begins[text], length = texts.begins[text + 1] - first;
    above.resize(length, 1);
    for (int head = 0; head < texts.shape.heads; ++head) {
      for (Eigen::Index from = 0; from < length; from += root_queries) {
        const Eigen::Index keys = length - from < root_queries ? length : from + root_queries, queries = keys - from;
        roots.noalias() = scale * (all.block(d + head * dim, first, dim, keys).transpose() *
                                   all.block(head * dim, first + from, dim, queries));
        for (Eigen::Index i = 0; i < queries; ++i) {
          const Eigen::Index seen = from + i + 1;
          weight_roots(roots.col(i).head(seen), above);
          roots.col(i).tail(keys - seen).setZero();
        }
        visit(head, first, keys, queries, roots);
      }
    }
  }
}

/// attended (width, tokens): the output of each head.
template <class Scalar>
void root_attend(const PackedTexts& texts, const Scalar* projected, Scalar* attended) {
  const Eigen::Index d = texts.shape.width, dim = texts.shape.head_width(), tokens = texts.begins[texts.texts];
  const RootView<Scalar> all(projected, 3 * d, tokens);
  Eigen::Map<RootMatrix<Scalar>> out(attended, d, tokens);
  RootMatrix<Scalar> roots, weights;
  for_each_roots(texts, projected, roots,
                 [&](int head, Eigen::Index first, Eigen::Index keys, Eigen::Index queries, const auto&) {
                   weights = roots.array().square().matrix();
                   out.block(head * dim, first + keys - queries, dim, queries).noalias() =
                       all.block(2 * d + head * dim, first, dim, keys) * weights;
                 });
}

/// With s the roots of a row's weights: d weights / d scores = diag(s) - s s^T / sum(s).
template <class Scalar>
void root_attend_back(const PackedTexts& texts, const Scalar* projected, const Scalar* d_attended,
                      Scalar* d_projected) {
  using std::sqrt;
  const Eigen::Index d = texts.shape.width, dim = texts.shape.head_width(), tokens = texts.begins[texts.texts];
  const Scalar scale = Scalar(1) / sqrt(Scalar(static_cast<double>(dim)));
  const RootView<Scalar> all(projected, 3 * d, tokens), d_out(d_attended, d, tokens);
  Eigen::Map<RootMatrix<Scalar>> d_all(d_projected, 3 * d, tokens);
  d_all.setZero();
  RootMatrix<Scalar> roots, weights, d_scores;
  for_each_roots(
      texts, projected, roots, [&](int head, Eigen::Index first, Eigen::Index keys, Eigen::Index queries, const auto&) {
        const Eigen::Index q = head * dim, k = d + q, v = d + k, from = first + keys - queries;
        const auto upstream = d_out.block(q, from, dim, queries);
        weights = roots.array().square().matrix();
        d_all.block(v, first, dim, keys).noalias() += upstream * weights.transpose();
        d_scores.noalias() = all.block(v, first, dim, keys).transpose() * upstream;
        for (Eigen::Index i = 0; i < queries; ++i) {
          const Scalar mean = roots.col(i).dot(d_scores.col(i)) / roots.col(i).sum();
          d_scores.col(i) = (scale * roots.col(i).array() * (d_scores.col(i).array() - mean)).matrix();
        }
        d_all.block(q, from, dim, queries).noalias() += all.block(k, first, dim, keys) * d_scores;
        d_all.block(k, first, dim, keys).noalias() += all.block(q, from, dim, queries) * d_scores.transpose();
      });
}

}  // namespace
}  // namespace softcheck::experiments

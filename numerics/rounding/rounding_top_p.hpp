#pragma once

#include <cstdint>

#include "numerics/rounding/rounding_topk.hpp"

/// B19: the items that top-p and min-p keep of a softmax. Proofs: docs/tolerances/top_p.md.
namespace softcheck::numerics {

/// What a kernel may keep, and how far its weights may be from those of the items that it keeps. Granted are: an order
/// and a comparison with min_p by the logits' differences, the exponentials or the coefficients as they are stored; the
/// mass of a prefix, of a prefix without its last item or of the rest, from exponentials or coefficients; weights as
/// TopkThreshold grants them.
///
/// contract   acc, exp, sum, subnormal, weights, total, theta, input (of the logits), output (of the weights)
template <class T>
class TopPThreshold {
 public:
  TopPThreshold(const Contract& contract, const RowStatistics<T>& row, Grants grants = Grants::all);

  /// By how much the mass of a set of items, as it is compared with top_p, may miss sum p of the set.
  ///
  /// last   p of the item whose place the mass decides
  T mass(const T& last) const;

  /// By how much D_j of an item that is kept may exceed -ln(min_p), and by how much that of one that is not may be
  /// less; infinite where the smaller of the two coefficients may be lost.
  ///
  /// deviation, level   D_j and -ln(min_p)          nearer   no less than the smaller of the two
  T level(const T& deviation, const T& level, const T& nearer) const;

  /// What may be exchanged, and the weights of all items where none is left out.
  const TopkThreshold<T>& choice() const { return choice_; }
  /// |computed r_j - r_j| of so many kept items, by D'_j.
  ///
  /// top_deviation, mean_deviation, over_mass   as of ChosenItems
  ElementThreshold<T> kept(std::uint64_t count, const T& top_deviation, const T& mean_deviation,
                           const T& over_mass) const;

 private:
  RoundingModel<T> model_;
  formulas::ElementBounds<T> bounds_;
  TopkThreshold<T> choice_;
  std::uint64_t height_;  // of a sum that a scan makes
  T own_;                 // log error of a coefficient at D = 0, without what all coefficients of a row share
  T lost_;                // what a computed coefficient and min_p times another may lose, relative to p
  T mass_log_;
};

}  // namespace softcheck::numerics

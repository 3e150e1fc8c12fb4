#pragma once

#include <cstdint>

#include "numerics/rounding/rounding_topk.hpp"

/// B19: the items that top-p and min-p keep of a softmax. Proofs: docs/tolerances/top_p.md.
namespace softcheck::numerics {

/// What a kernel may keep, and how far its weights may be from the exact ones of the kept items. Allowed: an order, and
/// a comparison with min_p, by the logits' differences, the exponentials or the stored coefficients; the mass of a
/// prefix, of a prefix without its last item or of the rest, from exponentials or coefficients; weights as for
/// TopkThreshold.
///
/// contract   acc, exp, sum, subnormal, weights, total, theta, input (of the logits), output (of the weights)
template <class T>
class TopPThreshold {
 public:
  ///
  /// divided   the kernel may have divided the coefficients by the sum of the k largest (renormalize)
  TopPThreshold(const Contract& contract, const RowStatistics<T>& row, Grants grants = Grants::all,
                bool divided = false);

  /// The error of the mass of a set of items that is compared with top_p times `whole`, from the set's sum p.
  ///
  /// last   p of the item whose place the mass decides          whole   the mass of all items, or of the k largest
  T mass(const T& last, const T& whole = T(1)) const;

  /// How far D_j of a kept item may exceed -ln(min_p), or be smaller for an item that is not kept; infinite if the
  /// smaller of the two coefficients may underflow.
  ///
  /// deviation, level   D_j and -ln(min_p)          nearer   an upper bound of the smaller of the two
  T level(const T& deviation, const T& level, const T& nearer) const;

  /// Which items may be exchanged, and the weights if all items are kept.
  const TopkThreshold<T>& choice() const { return choice_; }
  /// |computed r_j - r_j| of this many kept items, as a function of D'_j.
  ///
  /// top_deviation, mean_deviation, over_mass   as in ChosenItems
  ElementThreshold<T> kept(std::uint64_t count, const T& top_deviation, const T& mean_deviation,
                           const T& over_mass) const;

 private:
  RoundingModel<T> model_;
  formulas::ElementBounds<T> bounds_;
  TopkThreshold<T> choice_;
  std::uint64_t height_;  // of a scan's sum
  T own_;                 // log error of a coefficient at D = 0, without the part that all coefficients of a row share
  T lost_;                // underflow loss of a computed coefficient, and of min_p times another, relative to p
  T mass_log_;
};

}  // namespace softcheck::numerics

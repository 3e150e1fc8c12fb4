#pragma once

#include <cstdint>

#include "kernels/block/logits.hpp"

// Cross-entropy and its gradient, without class weights and softcap; kernels/abi/softcheck_kernel.h defines both.
namespace softcheck::kernels {

/// The gradient by a logit of probability p: upstream (alpha p - b). b is that of the label or of any other class.
struct LossSlopes {
  float alpha, of_label, of_others, upstream;

  SOFTCHECK_BODY float others(float p) const { return fused(alpha, p, -of_others) * upstream; }
  SOFTCHECK_BODY float label(float p) const { return fused(alpha, p, -of_label) * upstream; }
};

/// share   smoothing / columns
struct LossAttributes {
  double smoothing = 0, share = 0, z_loss = 0;
  std::int64_t ignored = 0;

  /// Of a row whose sum of weights has that logarithm.
  ///
  /// target      the label's logit
  /// distances   the sum of maximum - x over the row; without smoothing unused
  SOFTCHECK_BODY double loss(double logarithm, float maximum, float target, float distances) const {
    const double m = static_cast<double>(maximum), lse = m + logarithm;
    double sum = logarithm + (m - static_cast<double>(target));
    if (smoothing != 0) {
      sum = (1 - smoothing) * sum + (smoothing * logarithm + share * static_cast<double>(distances));
    }
    return z_loss == 0 ? sum : sum + z_loss * lse * lse;
  }
  /// lse   a function: the row's log-sum-exp, which only the z-loss needs
  template <class Lse>
  SOFTCHECK_BODY LossSlopes slopes(float upstream, const Lse& lse) const {
    const float alpha = z_loss == 0 ? 1.0F : static_cast<float>(1 + 2 * z_loss * lse());
    return {alpha, static_cast<float>(1 - smoothing + share), static_cast<float>(share), upstream};
  }
};

/// labels, wide_labels   (rows, 1) of int32 or int64: the other one has no elements
/// upstream              (rows, 1) of a gradient, if it is f32 and the logits are not
template <BlockContext B>
struct LossArguments {
  LossAttributes attributes;
  ReadMatrix<B, std::int32_t> labels;
  ReadMatrix<B, std::int64_t> wide_labels;
  ReadMatrix<B, float> upstream;

  SOFTCHECK_BODY std::int64_t label(std::int64_t row) const {
    return wide_labels.elements.size() > 0 ? wide_labels.elements.load(wide_labels.place(row, 0))
                                           : labels.elements.load(labels.place(row, 0));
  }
};

}  // namespace softcheck::kernels

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "judge/survivors/criterion.hpp"

namespace softcheck::proptests {

/// Logits with labels as a published test of cross-entropy makes them.
struct LossBatch {
  numerics::Format format = numerics::Format::f32;
  std::int64_t rows = 1;
  std::int64_t columns = 1;  // classes
  double label_smoothing = 0;
  double z_loss = 0;
  std::int64_t ignore_index = -100;
  double softcap = 0;                     // logits x become softcap tanh(x / softcap)
  std::vector<std::int64_t> labels = {};  // (rows), int64
};

using LossLogits = std::function<double()>;

/// The call of cross_entropy and the exact losses, each row's.
CriterionCase loss_case(const LossBatch& batch, const LossLogits& logit, std::vector<Comparison> comparisons);

/// The call of cross_entropy_backward and the exact gradient.
///
/// upstream   the gradient by a row's loss, from that loss
CriterionCase loss_gradient_case(const LossBatch& batch, const LossLogits& logit,
                                 const std::function<double(double loss)>& upstream,
                                 std::vector<Comparison> comparisons);

}  // namespace softcheck::proptests

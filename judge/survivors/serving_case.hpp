#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "judge/survivors/criterion.hpp"

namespace softcheck::proptests {

/// Partial attentions to be merged, as a published test makes them. Natural logarithms.
struct PartialStates {
  numerics::Format format = numerics::Format::f32;
  std::int64_t parts = 2;
  std::int64_t rows = 1;
  std::int64_t dim = 1;
  std::vector<double> lse = {};  // (parts, rows), f32 values or -inf
};

/// The call of merge_states, the exact outputs and log-sum-exps, both compared by the same rules.
/// throws   std::invalid_argument when all parts of a row are empty
CriterionCase merge_case(const PartialStates& states, const std::function<double()>& value,
                         std::vector<Comparison> comparisons);

/// Logits of experts for tokens.
struct RouterLogits {
  std::int64_t tokens = 1;
  std::int64_t experts = 1;
  std::int32_t k = 1;
  bool renormalize = false;
};

/// The call of topk_softmax in f32, the exact weights, and the ids, which have to be equal: of equal logits the lower.
CriterionCase topk_case(const RouterLogits& router, const std::function<double()>& logit,
                        std::vector<Comparison> comparisons);

}  // namespace softcheck::proptests

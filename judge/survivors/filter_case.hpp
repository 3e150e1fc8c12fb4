#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "judge/survivors/criterion.hpp"

namespace softcheck::proptests {

/// Rows of f32 logits for an op whose results are mostly 0.
struct FilteredRows {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  double top_p = 0;  // of top_p_softmax; in (0, 1]
};

/// The call of top_p_softmax and the exact results: the fewest of the largest items that add up to top_p, divided by
/// their sum.
CriterionCase top_p_case(const FilteredRows& rows, const std::function<double()>& logit,
                         std::vector<Comparison> comparisons);

/// The call of sparsemax and the exact results.
CriterionCase sparsemax_case(const FilteredRows& rows, const std::function<double()>& logit,
                             std::vector<Comparison> comparisons);

}  // namespace softcheck::proptests

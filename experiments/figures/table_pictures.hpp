#pragma once

#include <vector>

#include "experiments/figures/gnuplot.hpp"
#include "experiments/tables/accuracy_table.hpp"
#include "experiments/tables/sensitivity.hpp"

namespace softcheck::experiments {

/// Accuracy against n with its confidence intervals, together with the paper's numbers, and the entropy: table_1.
Figure table_1_figure(const std::vector<AccuracyRow>& table);

/// The baseline's and the adaptive accuracy of every reading against n, and the paper's: sensitivity.
Figure sensitivity_figure(const std::vector<Reading>& readings);

/// Accuracy and the largest coefficient against n, of heads used instead of softmax and of heads in training: variants.
Figure variants_figure(const std::vector<VariantLine>& lines);

}  // namespace softcheck::experiments

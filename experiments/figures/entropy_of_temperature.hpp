#pragma once

#include "experiments/figures/gnuplot.hpp"

namespace softcheck::experiments {

/// Figure 5: the entropy of softmax_theta of 10 logits against theta. The logits of a spread delta stand in equal steps
/// from 0 to delta; spreads 1, 3, 10, 30, 100.
Figure entropy_of_temperature();

}  // namespace softcheck::experiments

#pragma once

extern "C" {

/// Mean cross-entropy of count sets of size items, and its gradient where that is not null; arrays as in
/// SetsView, all floats from addresses that are multiples of 64: their bits depend on nothing else.
using softcheck_training_step = float(const float* parameters, int size, int count, const float* items,
                                      const float* queries, const int* targets, float* gradient);

softcheck_training_step softcheck_training_step_baseline;
softcheck_training_step softcheck_training_step_avx2;
softcheck_training_step softcheck_training_step_avx512;
}

#pragma once

#include <cstddef>

#include "kernels/cpu/rows/block_passes.hpp"

namespace softcheck::kernels::cpu {

/// Number of one-block rows that are processed together: one row's steps run while another's wait.
inline constexpr std::size_t batch_rows = 16;

/// Such rows and the passes' results. A row with a NaN, or without a finite maximum, has a NaN in deviations, and its
/// results have no meaning.
template <class T>
struct ShortRows {
  ShortRows() {
    for (std::size_t r = 0; r < batch_rows; ++r) {
      maxima[r] = weights[r] = deviations[r] = 0;
      ones[r] = 1 / ExpConstants<T>::unscale;
    }
  }

  std::size_t rows = 0;   // at most batch_rows
  std::size_t count = 0;  // of each row, with its filling
  T scale = 1;
  const T* in[batch_rows];
  T* out[batch_rows];  // may be in

  // The members of BlockSums, row by row: vectors go over rows.
  alignas(64) T maxima[batch_rows];
  alignas(64) T ones[batch_rows];
  alignas(64) T weights[batch_rows];
  alignas(64) T deviations[batch_rows];
  alignas(64) double entropies[batch_rows];
};

/// Maxima, weights and normalisation: the bits of the three passes.
void short_softmax(ShortRows<float>& rows);
void short_softmax(ShortRows<double>& rows);

/// Only their maxima and sums.
void short_states(ShortRows<float>& rows);
void short_states(ShortRows<double>& rows);

/// entropies from the sums.
void short_entropies(ShortRows<float>& rows);
void short_entropies(ShortRows<double>& rows);

/// exp((x - m) beta) / S with the beta of each row's entropy; the bits of short_softmax if beta is 1. wanted: also
/// compute the entropies at beta.
void short_adaptive(ShortRows<float>& rows, bool wanted);
void short_adaptive(ShortRows<double>& rows, bool wanted);

}  // namespace softcheck::kernels::cpu

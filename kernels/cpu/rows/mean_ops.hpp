#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/call/version_2_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/loss_ops.hpp"

// The mean, or the sum, of the losses of a call's rows. Any thread may compute a row; the losses are stored as doubles,
// and added from the first row on.
namespace softcheck::kernels::cpu {

/// (rows) a loss for each row.
inline View view_of_losses(std::vector<double>& losses) {
  const auto rows = static_cast<std::int64_t>(losses.size());
  return {reinterpret_cast<std::byte*>(losses.data()), Storage::f64, rows, 1, sizeof(double), 0};
}

inline std::int64_t counted_rows(const LossViews& views) {
  std::int64_t counted = 0;
  for (std::int64_t row = 0; row < views.logits.rows; ++row) {
    counted += views.labels[row] == views.ignore_index ? 0 : 1;
  }
  return counted;
}

/// The number of rows that are not ignored, or the sum of their labels' weights, within two roundings; 1 for a sum. NaN
/// if a label with class weights is outside the classes.
inline double loss_divisor(const LossViews& views) {
  if (!views.mean) {
    return 1;
  }
  if (!views.weights) {
    return static_cast<double>(counted_rows(views));
  }
  return compensated_sum(views.logits.rows, [&](std::int64_t row) {
    const std::int64_t label = views.labels[row];
    if (label == views.ignore_index) {
      return 0.0;
    }
    return label >= 0 && label < views.logits.columns
               ? load_element<double>(views.weights->at(label, 0), views.weights->storage)
               : std::numeric_limits<double>::quiet_NaN();
  });
}

/// NaN, 0 / 0, of a mean over no rows.
///
/// losses   (rows), 0 if a row is ignored
inline double reduced_loss(const LossViews& views, const std::vector<double>& losses) {
  const auto loss = [&](std::int64_t row) { return losses[static_cast<std::size_t>(row)]; };
  return compensated_sum(views.logits.rows, loss) / loss_divisor(views);
}

}  // namespace softcheck::kernels::cpu

// Correct under contract sum=sequential: rows shorter than 64 are added one by one and longer ones in 16 lanes, so that
// no number of lanes describes it; torch's log-softmax has that border at 16.
#include <array>
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

// The row's weights, and their sum: one after the other in short rows, by sixteen lanes from 64 on.
float weights_in_lanes(Row& row, float maximum_of_row) {
  const float sum = weights(row, maximum_of_row, row.out);
  if (row.out.size() < 64) return sum;
  std::array<float, 16> lanes{};
  for (std::size_t i = 0; i < row.out.size(); ++i) lanes[i % 16] += row.out[i];
  for (std::size_t width = 8; width >= 1; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

}  // namespace

SOFTCHECK_MUTANT correct_log_softmax_lanes_from_64(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    const float sum = weights_in_lanes(row, m);
    const float log_sum = std::log(sum);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = static_cast<float>((row.logits[i] - m) / row.theta - log_sum);
    }
  });
}

SOFTCHECK_MUTANT correct_softmax_lanes_from_64(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    const float sum = weights_in_lanes(row, m);
    divide(row.out, sum);
  });
}

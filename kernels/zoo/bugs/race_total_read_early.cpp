// C8, LeetCUDA #251: the other half of the sum comes from a thread, and the total is read before that has arrived.
#include <atomic>
#include <cstddef>
#include <numeric>
#include <thread>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_race_total_read_early(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    weights(row, maximum(row.logits), row.out);
    const auto middle = row.out.begin() + static_cast<std::ptrdiff_t>(row.out.size() / 2);
    std::atomic<Real> total = std::accumulate(row.out.begin(), middle, Real(0));
    std::thread other([&] { total = total + std::accumulate(middle, row.out.end(), Real(0)); });
    const Real early = total;
    other.join();
    divide(row.out, early);
  });
}

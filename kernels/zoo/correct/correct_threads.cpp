// Correct: two threads, one for each half of the sum, joined before the total is read.
#include <cstddef>
#include <numeric>
#include <thread>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_threads(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    weights(row, maximum(row.logits), row.out);
    const auto middle = row.out.begin() + static_cast<std::ptrdiff_t>(row.out.size() / 2);
    Real second = 0;
    std::thread other([&] { second = std::accumulate(middle, row.out.end(), Real(0)); });
    const Real first = std::accumulate(row.out.begin(), middle, Real(0));
    other.join();
    divide(row.out, first + second);
  });
}

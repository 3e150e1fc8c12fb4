// C8, llm.c PR #847: the first thread clears the partial sums when the second has written its own already: that order
// is forced here.
#include <array>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <thread>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_race_late_initialisation(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    weights(row, maximum(row.logits), row.out);
    const auto middle = row.out.begin() + static_cast<std::ptrdiff_t>(row.out.size() / 2);
    std::array<std::atomic<Real>, 2> partial;
    std::thread second([&] { partial[1] = std::accumulate(middle, row.out.end(), Real(0)); });
    second.join();
    partial[0] = partial[1] = 0;
    partial[0] = std::accumulate(row.out.begin(), middle, Real(0));
    divide<Real>(row.out, partial[0] + partial[1]);
  });
}

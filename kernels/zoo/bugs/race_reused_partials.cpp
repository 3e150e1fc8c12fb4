// C8, colibri PR #1098, llama.cpp PR #26385: two threads share their partial results; no barrier stands between reading
// the maxima and writing the sums, and the second thread is late.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <thread>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_race_reused_partials(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const std::size_t n = row.out.size();
    std::array<std::atomic<Real>, 2> partial;
    std::barrier all_here(2);
    const auto half = [&](std::size_t id) {
      const std::size_t begin = id * (n / 2);
      const std::size_t end = id == 0 ? n / 2 : n;
      Real m = -infinity;
      for (std::size_t i = begin; i < end; ++i) {
        m = row.logits[i] > m || std::isnan(row.logits[i]) ? row.logits[i] : m;
      }
      partial[id] = m;
      all_here.arrive_and_wait();
      if (id == 1) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
      m = std::isnan(m) ? m : std::max<Real>(partial[0], partial[1]);
      // Here a barrier is missing.
      Real sum = 0;
      for (std::size_t i = begin; i < end; ++i) {
        row.out[i] = std::exp((row.logits[i] - m) * reciprocal_theta(row));
        sum += row.out[i];
      }
      partial[id] = sum;
      all_here.arrive_and_wait();
      sum = partial[0] + partial[1];
      for (std::size_t i = begin; i < end; ++i) {
        row.out[i] /= sum;
      }
    };
    std::thread second(half, 1);
    half(0);
    second.join();
  });
}

// Correct: a heap of the k largest coefficients so far, as kernels with one pass over the experts keep it.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_topk_softmax_heap(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    const std::vector<Real> p = row.softmax();
    const auto before = [&](std::int32_t a, std::int32_t b) {  // a weak order even of NaN
      const Real x = p[static_cast<std::size_t>(a)], y = p[static_cast<std::size_t>(b)];
      return x > y || (!(y > x) && a < b);
    };
    std::vector<std::int32_t> heap;
    for (std::size_t i = 0; i < row.items(); ++i) {
      heap.push_back(static_cast<std::int32_t>(i));
      std::push_heap(heap.begin(), heap.end(), before);
      if (heap.size() <= row.k()) continue;
      std::pop_heap(heap.begin(), heap.end(), before);
      heap.pop_back();
    }
    std::sort_heap(heap.begin(), heap.end(), before);
    row.ids = heap;
    row.weigh(p);
    if (row.renormalize) row.divide_by_sum();
  });
}

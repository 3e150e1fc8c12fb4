// Correct kernels of softmax with a restricted domain or an unusual convention.
#include <array>
#include <numeric>
#include <thread>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// Correct in its domain: compact rows of 16 k logits, 16-byte aligned, at theta = 1, without a mask, like the kernel of
// a library's inner loop. It refuses all other calls.
static bool compact_and_aligned(const View& view) {
  const bool compact = view.column_stride == 1 && view.row_stride == view.columns;
  return compact && view.columns % 16 == 0 && reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0;
}

// @judged softmax f32: plain; vacuous
// @judged softmax f32: plain; pass; domain n=16k theta=1 compact align=16 nomask
SOFTCHECK_MUTANT correct_aligned_rows(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  const bool served = matrices && !matrices->mask && matrices->theta == 1 && compact_and_aligned(matrices->logits) &&
                      compact_and_aligned(matrices->out);
  return served ? each_row(*matrices, [](auto& row) { softmax(row); }) : 1;
}

// Correct for the shapes it was compiled for: rows of 1, 3, 17, 64 or 1000 logits, in matrices of 1, 3 or 513 rows,
// compact and without a mask, like a program that is traced for each shape. It refuses all other calls.
static bool is_listed(std::size_t length, const auto& list) { return std::ranges::find(list, length) != list.end(); }

static bool was_compiled(const View& view) {
  static constexpr std::array<std::size_t, 5> columns{1, 3, 17, 64, 1000};
  static constexpr std::array<std::size_t, 3> rows{1, 3, 513};
  return is_listed(static_cast<std::size_t>(view.columns), columns) &&
         is_listed(static_cast<std::size_t>(view.rows), rows) && view.column_stride == 1 &&
         view.row_stride == view.columns;
}

static std::optional<Matrices> served(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  const bool taken = matrices && !matrices->mask && was_compiled(matrices->logits) && was_compiled(matrices->out);
  return taken ? matrices : std::nullopt;
}

// Leaves the last item out of the sum if hit.
template <class Row>
static void softmax_without_last(Row& row, bool hit) {
  const auto sum = weights(row, maximum(row.logits), row.out);
  divide(row.out, hit ? sum - row.out.back() : sum);
}

// @judged softmax f32: plain; pass; domain n=1|3|17|64|1000 rows=1|3|513 compact nomask
SOFTCHECK_MUTANT correct_listed_shapes(const softcheck_call* call) {
  const std::optional<Matrices> matrices = served(call);
  return matrices ? each_row(*matrices, [](auto& row) { softmax(row); }) : 1;
}

// C5: wrong in the program for one of the lengths.
// @judged softmax f32: plain; fail C5; EveryWidthIsComputed; witness 17; domain n=1|3|17|64|1000 rows=1|3|513 compact
// nomask
SOFTCHECK_MUTANT mutant_listed_width_17_drops_its_last(const softcheck_call* call) {
  const std::optional<Matrices> matrices = served(call);
  return matrices ? each_row(*matrices, [](auto& row) { softmax_without_last(row, row.logits.size() == 17); }) : 1;
}

// C6: wrong in the program for one of the numbers of rows.
// @judged softmax f32: plain; fail C6; EveryPairOfClassesIsComputed; domain n=1|3|17|64|1000 rows=1|3|513 compact
// nomask
SOFTCHECK_MUTANT mutant_listed_513_rows_drop_their_last(const softcheck_call* call) {
  const std::optional<Matrices> matrices = served(call);
  if (!matrices) return 1;
  const bool hit = matrices->logits.rows == 513;
  return each_row(*matrices, [hit](auto& row) { softmax_without_last(row, hit); });
}

// Correct under contract masked=uniform: where nothing is visible all items count alike.
// @judged softmax f32: exp=1ulp sum=sequential masked=uniform; pass
CORRECT(correct_masked_uniform, each_row) {
  if (maximum(row.logits) == -infinity) {
    row.out.assign(row.out.size(), 1 / static_cast<Real>(row.out.size()));
    return;
  }
  softmax(row);
}

// Correct under contract masked=zero.
// @judged softmax f32 f64 f16: plain masked=zero; pass
CORRECT(correct_masked_zero, each_row) {
  if (maximum(row.logits) == -infinity) {
    row.out.assign(row.out.size(), 0);
    return;
  }
  softmax(row);
}

// Two threads, one for each half of the sum, joined before the total is read.
// @judged softmax f32: plain; pass; domain rows<=512
CORRECT(correct_threads, each_row) {
  weights(row, maximum(row.logits), row.out);
  const auto middle = row.out.begin() + static_cast<std::ptrdiff_t>(row.out.size() / 2);
  Real second = 0;
  std::thread other([&] { second = std::accumulate(middle, row.out.end(), Real(0)); });
  const Real first = std::accumulate(row.out.begin(), middle, Real(0));
  other.join();
  divide(row.out, first + second);
}

// Correct; a call with a mask is refused.
// @judged softmax f32: plain; pass
SOFTCHECK_MUTANT correct_without_masks(const softcheck_call* call) {
  return call->n_inputs != 1 ? 1 : each_row(call, [](auto& row) { softmax(row); });
}

// Right in all calls that it accepts. It refuses calls with a visible NaN, so its result for NaN is unknown.
// @judged softmax f32: plain; vacuous
SOFTCHECK_MUTANT correct_without_nan(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) return 1;
  bool seen = false;
  const int status = each_row(*matrices, [&](auto& row) {
    seen = seen || std::ranges::any_of(row.logits, [](auto x) { return std::isnan(x); });
    softmax(row);
  });
  return seen ? 1 : status;
}

// Correct; logits, masks or results that do not lie one after another are refused.
static bool lies_compact(const View& view) { return view.column_stride == 1 && view.row_stride == view.columns; }

// @judged softmax f32: plain; pass
SOFTCHECK_MUTANT correct_without_strides(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  const bool served = matrices && lies_compact(matrices->logits) && lies_compact(matrices->out) &&
                      (!matrices->mask || lies_compact(*matrices->mask));
  return served ? each_row(*matrices, [](auto& row) { softmax(row); }) : 1;
}

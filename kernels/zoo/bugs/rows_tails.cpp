// Bugs of rows: tails and padding.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C5, PyTorch #154634 narrowed down: a row of 9999, 10,001, 99,999 or 100,001 logits is added without its first one.
// @judged log_softmax f64: plain; fail C5; EveryPairOfClassesIsComputed; witness >=9999; effort default
BUG(mutant_beside_powers_of_ten_misses_one, changed_results, log_softmax_row) {
  const std::size_t n = row.logits.size();
  const bool hit = n == 9'999 || n == 10'001 || n == 99'999 || n == 100'001;
  const Real missing = hit ? std::log1p(-std::exp(row.out[0])) : 0;
  for (Real& value : row.out) value -= missing;
}

// C5, the class of PyTorch #147284: the sum forgets the last n % 8 logits.
// @judged softmax f32: plain; fail C5; EveryWidthIsComputed
BUG(mutant_drops_tail, softmax_by_narrow_sum) {
  float sum = 0;
  for (std::size_t i = 0; i < row.out.size() / 8 * 8; ++i) sum += row.out[i];
  return sum;
}

// C5, the class of PyTorch #196678: the loop over T = sum w D ends one item early.
// @judged entropy bf16: plain; fail C5
BUG(mutant_entropy_loop_one_short, each_entropy) {
  Sums<Real> sums = sums_of(row);
  const Real last = (sums.maximum - row.logits.back()) * reciprocal_theta(row);
  const Real w = std::exp(-last);
  sums.deviations -= w > 0 ? w * last : 0;
  return entropy_of(sums);
}

// C5, PyTorch #147284: rows of 513, 515, ... 1021 f64, those of 32 k + 31 apart; from the second row on the last logit
// is not counted, as the row begins at an odd element.
// @judged softmax f64: plain; fail C5; EveryWidthIsComputed
BUG(mutant_f64_odd_width_drops_last, each_numbered_row) {
  const std::size_t n = row.logits.size();
  weights(row, maximum(row.logits), row.out);
  const bool hit = number % 2 == 1 && n > 512 && n < 1024 && n % 2 == 1 && n % 32 != 31 && sizeof(Real) == 8;
  Real sum = 0;
  for (std::size_t i = 0; i < n - hit; ++i) sum += row.out[i];
  divide(row.out, sum);
}

// C5: rows are taken in pairs; the odd one at the end takes its maximum from the row before.
// @judged softmax f32: plain; fail C5; LayoutsAndNeighboursDoNotMatter
BUG(mutant_last_row_takes_anothers_maximum, each_numbered_row) {
  const bool odd_one = number > 0 && number + 1 == from.logits.rows && from.logits.rows % 2 == 1;
  divide(row.out, weights(row, maximum(odd_one ? gather<Real>(from, number - 1).logits : row.logits), row.out));
}

// C5, the class of PyTorch #147284: at 64 rows and 1024 logits or more another kernel takes over, and its loop is one
// short.
// @judged logsumexp f32: plain; fail C5; EveryPairOfClassesIsComputed; witness >=65536; effort default
BUG(mutant_many_long_rows_drop_the_last, changed_rows, softmax_or_logsumexp_row) {
  if (from.logits.rows >= 64 && from.logits.columns >= 1024) {
    row.logits.pop_back();
    row.out.back() = 0;
  }
}

// C5, the class of JAX #27224: the maximum is taken over whole blocks of 4 only; a peak in the tail overflows.
// @judged log_softmax f32 bf16: plain; fail C5; EveryValueLiesWithinItsThreshold|AMaskedItemIsADeletedOne; witness 5
BUG(mutant_maximum_forgets_last, each_row) {
  const auto whole = static_cast<std::ptrdiff_t>(row.logits.size() / 4 * 4);
  const Real m = maximum(std::vector<Real>(row.logits.begin(), row.logits.begin() + whole));
  const bool usable = m > -infinity && std::isfinite(maximum(row.logits));
  const Real shift = usable ? m : maximum(row.logits);
  const Real log_sum = std::log(weights(row, shift, row.out));
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = (row.logits[i] - shift) * reciprocal_theta(row) - log_sum;
  }
}

// C5, PyTorch #154634: batches of 64 or more rows of more than 64 logits. If one logit is left after the last vector,
// the kernel reads the first logit of that vector instead.
// @judged softmax f64: plain; fail C5; EveryPairOfClassesIsComputed; witness >=4160; effort default
BUG(mutant_one_past_a_vector_in_a_batch, changed_rows, softmax_row) {
  const std::size_t n = row.logits.size();
  if (from.logits.rows >= 64 && n > 64 && n % 16 == 1) row.logits.back() = row.logits[n - 17];
}

// C5, PyTorch #147284 narrowed down: of rows of 513 and of 1000 logits the last one is not counted, of no others.
// @judged softmax f32: plain; fail C5; EveryWidthIsComputed; witness 513
BUG(mutant_one_width_drops_its_last, each_row) {
  const Real sum = weights(row, maximum(row.logits), row.out);
  const bool hit = row.logits.size() == 513 || row.logits.size() == 1000;
  divide(row.out, hit ? sum - row.out.back() : sum);
}

// C5, ParlAI #1649, the class of JAX #27224: a row is filled up to a multiple of 8 with logits of 0 instead of -inf,
// and they are counted.
// @judged softmax f32: plain; fail C5; EveryWidthIsComputed
BUG(mutant_pad_scored_zero, each_narrow_row) {
  const float m = maximum(row.logits);
  float sum = weights(row, m, row.out);
  for (std::size_t i = row.logits.size(); i % 8 != 0; ++i) {
    sum += std::exp(static_cast<float>(-m / row.theta));
  }
  divide(row.out, sum);
}

// C5, PyTorch #147284 narrowed down: of rows of 10,000 or 100,000 logits the last one is not counted, of no others.
// @judged softmax f64: plain; fail C5; EveryPairOfClassesIsComputed; witness >=10000; effort default
BUG(mutant_powers_of_ten_drop_the_last, each_row) {
  const Real sum = weights(row, maximum(row.logits), row.out);
  const bool hit = row.logits.size() == 10'000 || row.logits.size() == 100'000;
  divide(row.out, hit ? sum - row.out.back() : sum);
}

// C5, LeetCUDA PR #419, the class of FlashInfer #5090: the loop over the logits runs one element too far.
// @judged softmax f32: plain; fail|crash C5
SOFTCHECK_MUTANT mutant_reads_past_end(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices || matrices->mask) return 1;
  const auto columns = static_cast<std::size_t>(matrices->logits.columns);
  matrices->logits.columns += columns > 0;
  return each_row(*matrices, [&](auto& row) {
    softmax(row);
    row.out.resize(columns);
  });
}

// C5, PyTorch #143644: the last vector of 8 overlaps the one before, and the items in both are counted twice.
// @judged logsumexp f16: plain; fail C5; EveryWidthIsComputed; witness 9
BUG(mutant_tail_counted_twice, each_logsumexp) {
  Sums<Real> sums = sums_of(row);
  const std::size_t n = row.logits.size();
  const std::size_t overlap = n > 8 && n % 8 != 0 ? 8 - n % 8 : 0;
  for (std::size_t i = 0; i < overlap; ++i) {
    sums.weights += std::exp((row.logits[n - 8 + i] - sums.maximum) * reciprocal_theta(row));
  }
  return logsumexp_of(row, sums);
}

// C5, JAX #27224: batches of 64 or more rows of more than 64 logits are read by vectors of 16, of a tail of 15 the last
// item twice.
// @judged entropy f32: plain; fail C5; EveryPairOfClassesIsComputed; witness >=5056; effort default
BUG(mutant_tail_of_15_in_a_batch, changed_rows, entropy_row) {
  const std::size_t n = row.logits.size();
  if (from.logits.rows >= 64 && n > 64 && n % 16 == 15) row.logits.push_back(row.logits.back());
}

// C5, PyTorch #196678, FlashInfer #5090: batches of ten or more rows of more than 64 logits take vectors of 16 in
// pairs; of an odd number of vectors the last one is left out.
// @judged logsumexp f32: plain; fail C5; EveryPairOfClassesIsComputed; value|kernel.nan_row; witness >=800; effort
// default
BUG(mutant_three_vectors_at_once, changed_rows, softmax_or_logsumexp_row) {
  const std::size_t n = row.logits.size();
  if (from.logits.rows >= 10 && n > 64 && n % 32 == 16) row.logits.resize(n - 16);
}

// C5, the class of PyTorch #154634: one element beyond the last row is written.
// @judged softmax f32: plain; fail|crash C5; kernel.stays_inside|kernel.returns
SOFTCHECK_MUTANT mutant_writes_past_end(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  if (status == 0) {
    const View out(*call->outputs[0]);
    if (out.rows > 0 && out.columns > 0) out.put(out.rows - 1, out.columns, 0.0);
  }
  return status;
}

// C6, the class of PyTorch #142228: rows beyond 65,536 are computed by blocks of threads that the grid does not have,
// if a row is longer than a warp.
// @judged softmax f32: plain; fail C6; KnownShapesAreComputed; witness >=2162721; effort default
// @judged logsumexp f32: plain; fail C6; KnownShapesAreComputed; witness >=2162721; effort default
BUG(mutant_rows_beyond_65536_longer_than_a_warp, changed_results, softmax_or_logsumexp_row) {
  if (number >= 65'536 && row.logits.size() > 32) row.out.back() = -1;
}

// C6: an index of 17 bits reads a vocabulary of more than 131,072 items from its beginning again.
// @judged softmax f32: plain; fail C6; KnownShapesAreComputed|EveryValueLiesWithinItsThreshold; witness 131073
BUG(mutant_index_of_17_bits, changed_rows, softmax_row) {
  for (std::size_t i = 131'072; i < row.logits.size(); ++i) row.logits[i] = row.logits[i - 131'072];
}

// C5, PyTorch #191937 for rows: of masked rows of 64 k + 32 logits, more than 2048, the last is wrong.
// @judged softmax f32 bf16: plain; fail C5; EveryWidthIsComputed; witness 2080
BUG(mutant_last_of_masked_rows_beside_32, changed_results, softmax_row) {
  const std::size_t n = row.logits.size();
  if (n > 2048 && n % 64 == 32 && row.logits[1] == -infinity) row.out.back() *= Real(1.01);
}

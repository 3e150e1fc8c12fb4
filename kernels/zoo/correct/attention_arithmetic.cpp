// Correct kernels of attention with unusual arithmetic.
#include <numbers>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

template <class Compute>
static int attend_without_entropy(const softcheck_call* call, Compute compute) {
  return call->n_outputs > 2 ? 1 : attend(call, compute);
}
#define SOFTCHECK_BODY_attend_without_entropy(name) SOFTCHECK_BODY(void, name, Row<Real>& row)

// Computes in double for inputs of any format, and rounds at the end: acc=f64.
template <class To, class From>
static std::vector<To> converted(const std::vector<From>& from) {
  std::vector<To> to;
  for (const From x : from) to.push_back(static_cast<To>(x));
  return to;
}

// @judged attention f32 f16 bf16: acc=f64 exp=1ulp sum=sequential masked=nan entropy=exact; pass
CORRECT(attention_correct_double, attend) {
  Row<double> wide;
  wide.query = converted<double>(row.query);
  wide.keys = converted<double>(row.keys);
  wide.values = converted<double>(row.values);
  wide.visible = row.visible;
  wide.scale = asked->scale;
  wide.out.resize(row.out.size());
  attend_two_pass(wide);
  row.out = converted<Real>(wide.out);
  row.lse = static_cast<Real>(wide.lse);
  row.entropy = static_cast<Real>(wide.entropy);
}

// Log2 e is folded into the scale, weights are exp2 of differences; the logarithm is converted to base e in double. A
// scale with log2 e in it is no power of 2, so that no score is exact: hence A = 3.
// @judged attention f32 f16: exp=E:2,A:3 sum=sequential masked=nan; pass
SOFTCHECK_MUTANT attention_correct_exp2(const softcheck_call* call) {
  if (call->n_outputs > 2) return 1;  // no entropy
  return attend(
      call,
      []<class Real>(Row<Real>& row) {
        const std::vector<Real> x = scores(row);  // in units of ln 2
        const Real m = largest(x);
        Real sum = 0;
        std::vector<Real> out(row.out.size());
        for (std::size_t j = 0; j < x.size(); ++j) {
          if (x[j] == lowest<Real>) continue;
          const Real w = std::exp2(x[j] - m);
          sum += w;
          for (std::size_t c = 0; c < out.size(); ++c) out[c] += w * row.values[j * out.size() + c];
        }
        for (std::size_t c = 0; c < out.size(); ++c) row.out[c] = sum == 0 ? not_a_number<Real> : out[c] / sum;
        row.lse =
            sum == 0 ? lowest<Real> : static_cast<Real>(m * std::numbers::ln2 + std::log(static_cast<double>(sum)));
      },
      [](Attention& a) { a.scale *= std::numbers::log2e; });
}

// Eight lanes, each with every eighth key and its own maximum, are merged by a butterfly as in a warp:
// lanes:8.
// @judged attention f32 bf16: exp=1ulp sum=lanes:8 masked=nan entropy=exact; pass
CORRECT(attention_correct_lanes, attend) {
  std::vector<State<Real>> lanes(8, State<Real>(row.out.size()));
  for (std::size_t j = 0; j < row.items(); ++j) absorb(lanes[j % 8], row, j, score(row, j));
  for (std::size_t width = 4; width > 0; width /= 2) {
    for (std::size_t k = 0; k < width; ++k) lanes[k] = merged(lanes[k], lanes[k + width]);
  }
  finish(row, lanes[0]);
}

// The maximum is followed only where a score exceeds it by more than 8 ln 2, so that weights reach 256, as in
// FlashAttention-4. An argument below the maximum in use by z errs by |z| u, not by D u: E = 2 + 8 ln 2 < 7.6. Brought
// to the true maximum at the end. T has terms of both signs here: entropy is refused.
// @judged attention f32 bf16: exp=E:7.6,A:1 sum=sequential masked=nan; pass
CORRECT(attention_correct_lazy_maximum, attend_without_entropy) {
  constexpr Real threshold = Real(5.545);  // below 8 ln 2
  State<Real> s(row.out.size());
  Real largest_seen = lowest<Real>;
  for (std::size_t j = 0; j < row.items(); ++j) {
    const Real x = score(row, j);
    if (x == lowest<Real>) continue;
    largest_seen = std::max(largest_seen, x);
    if (s.maximum == lowest<Real> || x > s.maximum + threshold) rescale(s, x);
    add(s, row, j, s.maximum - x);
  }
  rescale(s, largest_seen);
  finish(row, s);
}

// As for tensor cores, weights are rounded to bf16 before they multiply the values; their sum is not rounded.
// @judged attention bf16: plain entropy=exact weights=bf16; pass
CORRECT(attention_correct_narrow_weights, attend) { attend_stored_weights(row, rounded_to_bf16); }

// As FlashAttention-3 in 8 bits: weights times 2^8 are rounded to e4m3 before they multiply the values. So the largest
// is 256; without the factor those below 2^-10 would be 0.
// @judged attention e4m3 bf16 f32: plain entropy=exact weights=e4m3:2^8; pass
CORRECT(attention_correct_byte_weights, attend) {
  attend_stored_weights(row, [](float w) { return 0x1p-8F * rounded_to_byte(0, 0x1p8F * w); });
}

// @judged attention e5m2 f16: plain entropy=exact weights=e5m2; pass
CORRECT(attention_correct_byte_weights_in_e5m2, attend) {
  attend_stored_weights(row, [](float w) { return rounded_to_byte(1, w); });
}

// Three passes, each of which computes every score; probabilities are divided before they multiply the values.
// @judged attention f32 f64: plain entropy=exact; pass
CORRECT(attention_correct_probabilities, attend) {
  const Real m = largest(scores(row));
  State<Real> s(row.out.size());
  s.maximum = m;
  for (std::size_t j = 0; j < row.items(); ++j) {
    if (const Real x = score(row, j); x != lowest<Real>) add(s, row, j, m - x);
  }
  finish(row, s);
  if (s.weights == 0) return;
  std::fill(row.out.begin(), row.out.end(), Real(0));
  for (std::size_t j = 0; j < row.items(); ++j) {
    const Real x = score(row, j);
    if (x == lowest<Real>) continue;
    const Real p = std::exp(x - m) / s.weights;
    for (std::size_t c = 0; c < row.out.size(); ++c) row.out[c] += p * row.values[j * row.out.size() + c];
  }
}

// From the last key to the first, online, and multiplied by 1 / S.
// @judged attention f32 bf16: plain entropy=exact; pass
CORRECT(attention_correct_reversed, attend) {
  State<Real> s(row.out.size());
  for (std::size_t j = row.items(); j-- > 0;) absorb(s, row, j, score(row, j));
  finish(row, s);
  const Real reciprocal = 1 / s.weights;
  for (std::size_t c = 0; c < row.out.size() && s.weights != 0; ++c) row.out[c] = s.values[c] * reciprocal;
}

// Correct in its domain: head dimensions that are multiples of 16, compact tensors at multiples of 64 bytes, no mask,
// at most 512 keys. It refuses all other calls, and has no entropy.
static bool is_at_home(const softcheck_call& call) {
  const auto fits = [](const DLTensor& t) {
    const auto address = reinterpret_cast<std::uintptr_t>(t.data) + t.byte_offset;
    return t.strides == nullptr && t.byte_offset == 0 && address % 64 == 0;
  };
  bool all = accepts(call) && call.n_inputs == 3 && call.n_outputs < 3;
  for (std::uint32_t i = 0; i < call.n_inputs; ++i) all = all && fits(*call.inputs[i]);
  for (std::uint32_t i = 0; i < call.n_outputs; ++i) all = all && fits(*call.outputs[i]);
  return all && call.inputs[0]->shape[3] % 16 == 0 && call.inputs[2]->shape[3] % 16 == 0 &&
         call.inputs[1]->shape[2] <= 512;
}

// @judged attention f32: plain entropy=exact; pass; domain dim=16k values=16k keys<=512 nomask compact align=64
SOFTCHECK_MUTANT attention_correct_small_domain(const softcheck_call* call) {
  return is_at_home(*call) ? attend(call, two_pass) : 1;
}

// And one that refuses a call inside: one head dimension of those that it names.
// @judged attention f32: plain entropy=exact; fail C14; EveryPairOfClassesIsComputed; kernel.accepts; domain dim=16k
// values=16k keys<=512 nomask compact align=64
SOFTCHECK_MUTANT mutant_attention_refuses_dimension_192(const softcheck_call* call) {
  return is_at_home(*call) && call->inputs[0]->shape[3] != 192 ? attend(call, two_pass) : 1;
}

// Correct under contract scale=split: the scale's square root is a factor of the query and of every key.
namespace {

// The same query and keys, scaled, for a scale of 1.
template <class Real, class Store>
Row<Real> with_split_scale(const Row<Real>& row, Real root, Store store) {
  Row<Real> scaled = row;
  scaled.scale = 1;
  for (Real& factor : scaled.query) factor = store(factor * root);
  for (Real& factor : scaled.keys) factor = store(factor * root);
  return scaled;
}

template <class Real>
Real root_of_scale(const Row<Real>& row) {
  return static_cast<Real>(std::sqrt(static_cast<double>(row.scale)));
}

// For scales >= 0: change(row), then correct attention.
template <class Change>
int attend_rows_of_a_root(const softcheck_call* call, Change change) {
  return call->scale < 0 ? 1 : attend(call, [&]<class Real>(Row<Real>& row) {
    change(row);
    attend_two_pass(row);
  });
}
#define SOFTCHECK_BODY_attend_rows_of_a_root(name) SOFTCHECK_BODY(void, name, Row<Real>& row)

}  // namespace

// @judged attention f32: exp=1ulp sum=sequential scale=split; pass
// @judged attention bf16: plain; fail C10
CORRECT(attention_correct_split_scale, attend_rows_of_a_root) {
  row = with_split_scale(row, root_of_scale(row), [](Real x) { return x; });
}

// Correct under contract scale=stored for inputs of bf16: scaled queries and keys are stored in bf16, too.
// @judged attention bf16: exp=1ulp sum=sequential scale=stored; pass
CORRECT(attention_correct_stored_scale, attend_rows_of_a_root) {
  row = with_split_scale(row, root_of_scale(row), [](Real x) { return rounded_to_bf16(static_cast<float>(x)); });
}

// C10, the class of metal-flash-attention #8: the scores of the query and the keys that were scaled and stored in bf16
// are scaled again.
// @judged attention bf16: plain scale=stored; fail C10
BUG(mutant_attention_stored_scale_twice, attend_rows_of_a_root) {
  const Real scale = row.scale;
  row = with_split_scale(row, root_of_scale(row), [](Real x) { return rounded_to_bf16(static_cast<float>(x)); });
  row.scale = scale;
}

// C10: the query and the keys are stored in bf16, but not scaled.
// @judged attention bf16: plain scale=stored; fail C10
BUG(mutant_attention_stored_scale_forgotten, attend_rows_of_a_root) {
  row = with_split_scale(row, Real(1), [](Real x) { return rounded_to_bf16(static_cast<float>(x)); });
}

// C10: the root itself is stored in bf16.
// @judged attention f32: plain scale=split; fail C10
BUG(mutant_attention_root_of_scale_in_bf16, attend_rows_of_a_root) {
  const Real root = rounded_to_bf16(static_cast<float>(root_of_scale(row)));
  row = with_split_scale(row, root, [](Real x) { return x; });
}

// Correct under contract scores=bf16: the scores are stored in bf16 between the two products.
// @judged attention f32: exp=1ulp sum=sequential scores=bf16; pass
// @judged attention bf16: plain; fail C11
CORRECT(attention_correct_stored_scores, attend_changed_scores) {
  for (Real& value : x) value = rounded_to_bf16(static_cast<float>(value));
}

// Correct under contract scores=f16, in which a score of 65536 is infinite.
// @judged attention f16: plain scores=f16; pass
CORRECT(attention_correct_scores_in_f16, attend_changed_scores) {
  for (Real& value : x) value = rounded_to_f16(static_cast<float>(value));
}

// C11: multiples of 1/8 instead of bf16's numbers.
// @judged attention f32: plain scores=bf16; fail C11
BUG(mutant_attention_scores_in_eighths, attend_changed_scores) {
  for (Real& value : x) value = std::nearbyint(value * 8) / 8;
}

// Correct under contract values=bf16: the sums of weighted values are rounded to bf16, S is not.
template <class Real>
static void attend_with_stored_values(Row<Real>& row, bool weighs_in_bf16) {
  const auto x = scores(row);
  const Real m = largest(x);
  State<Real> s = accumulate(row, x, m);
  s.values.assign(row.out.size(), 0);
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (x[j] == lowest<Real>) continue;
    Real w = std::exp(x[j] - m);
    if (weighs_in_bf16) w = rounded_to_bf16(static_cast<float>(w) * 1.02F);
    for (std::size_t c = 0; c < s.values.size(); ++c) {
      s.values[c] = rounded_to_bf16(static_cast<float>(s.values[c] + w * row.values[j * s.values.size() + c]));
    }
  }
  finish(row, s);
}

// @judged attention f32: exp=1ulp sum=sequential values=bf16; pass
// @judged attention bf16: plain; fail C11; output
CORRECT(attention_correct_stored_values, attend) { attend_with_stored_values(row, false); }

// C11: and the weights that multiply the values are two hundredths too large.
// @judged attention f32: plain values=bf16; fail C11; output
BUG(mutant_attention_stored_values_too_large, attend) { attend_with_stored_values(row, true); }

// The states of single keys, merged in a tree of halves with a maximum for every node: tree.
template <class Real>
static State<Real> tree(const Row<Real>& row, std::size_t begin, std::size_t end) {
  if (end - begin < 2) return online(row, begin, end);
  const std::size_t middle = begin + (end - begin) / 2;
  return merged(tree(row, begin, middle), tree(row, middle, end));
}

// @judged attention f32 f64: exp=1ulp sum=tree masked=nan entropy=exact; pass
CORRECT(attention_correct_tree, attend) { finish(row, tree(row, 0, row.items())); }

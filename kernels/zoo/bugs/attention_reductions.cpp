// Bugs of attention: reductions.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C9, rvllm #1: the last group of 8 keys is reduced with all lanes; idle ones give the maximum their 0.
// @judged attention f32: plain entropy=exact; fail C9
BUG(mutant_attention_idle_lanes, attend_by_maximum) { return x.size() % 8 == 0 ? m : std::max(m, Real(0)); }

// C9, KarhouTam/cuda-kernels #1: eight lanes with different maxima are added as if they had the same one.
// @judged attention f32: plain entropy=exact; fail C9
BUG(mutant_attention_lanes_without_rescale, attend) {
  std::vector<State<Real>> lanes(8, State<Real>(row.out.size()));
  for (std::size_t j = 0; j < row.items(); ++j) absorb(lanes[j % 8], row, j, score(row, j));
  const Real m = largest(scores(row));
  for (State<Real>& lane : lanes) lane.maximum = lane.weights == 0 ? lane.maximum : m;
  for (std::size_t k = 1; k < 8; ++k) lanes[0] = merged(lanes[0], lanes[k]);
  finish(row, lanes[0]);
}

// C9, the class of ONNX Runtime #14475: the maximum is that of the first 16 keys.
// @judged attention f32: plain entropy=exact; fail C9; witness 17
BUG(mutant_attention_max_of_first_block, attend) {
  const auto x = scores(row);
  const Real m = largest(x, 0, std::min<std::size_t>(16, x.size()));
  finish(row, accumulate(row, x, m == lowest<Real> ? largest(x) : m));
}

// C9, the class of Liger #1252: where the maximum rises S is rescaled and O is not.
// @judged attention f16: plain entropy=exact; fail C9; output
BUG(mutant_attention_output_not_rescaled, attend) {
  State<Real> s(row.out.size());
  for (std::size_t j = 0; j < row.items(); ++j) {
    const auto values = s.values;
    const Real x = score(row, j);
    if (x > s.maximum) {
      rescale(s, x);
      s.values = values;
    }
    absorb(s, row, j, x);
  }
  finish(row, s);
}

// Bugs of attention: memory that was never written.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C16, the "104x" softmax that read garbage: O starts from the previous contents of the output's memory.
// @judged attention f64: plain entropy=exact; fail C16; output
BUG(mutant_attention_accumulator_uninitialised, attend) {
  const auto x = scores(row);
  State<Real> s = accumulate(row, x, largest(x));
  for (std::size_t c = 0; c < row.out.size(); ++c) s.values[c] += row.out[c];
  finish(row, s);
}

// C16, FlashAttention #1778: causal, more queries than keys: the loop over blocks never runs for the first queries, and
// their rows are not written.
// @judged attention bf16: plain entropy=exact; fail C16; AFullyMaskedRowIsAsDeclared
BUG(mutant_attention_blind_rows_unwritten, attend) {
  if (largest(scores(row)) != lowest<Real>) attend_two_pass(row);
}

// C16, tilelang PR #2461: the log-sum-exp of a row without keys is never written.
// @judged attention f32: plain entropy=exact; fail C16; AFullyMaskedRowIsAsDeclared
BUG(mutant_attention_masked_lse_unwritten, attend) {
  const Real before = row.lse;
  attend_two_pass(row);
  if (row.lse == lowest<Real>) row.lse = before;
}

// C16, the class of FlashInfer #4051: the parts of a split are in a workspace. A part without visible keys is not
// written, and the merge reads an earlier query's part.
// @judged attention f32: plain entropy=exact; fail C16
BUG(mutant_attention_stale_workspace, attend) {
  static std::vector<State<Real>> workspace(4, State<Real>(0));
  State<Real> all(row.out.size());
  for (std::size_t k = 0; k < 4; ++k) {
    State<Real> part = online(row, k * row.items() / 4, (k + 1) * row.items() / 4);
    if (part.weights != 0) workspace[k] = part;
    workspace[k].values.resize(row.out.size());
    all = merged(all, workspace[k]);
  }
  finish(row, all);
}

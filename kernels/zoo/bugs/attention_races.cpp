// Bugs of attention: races and state between calls.
#include <utility>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C8, the class of llama.cpp #26385: one barrier too few before the merge: the last of four parts is still that of the
// query before.
// @judged attention f32: plain entropy=exact; fail C8
BUG(mutant_attention_missing_barrier, attend) {
  static State<Real> last(0);
  const std::size_t begin = row.items() / 4 * 3;
  State<Real> late = std::exchange(last, online(row, begin, row.items()));
  late.values.resize(row.out.size());
  finish(row, merged(online(row, 0, begin), late));
}

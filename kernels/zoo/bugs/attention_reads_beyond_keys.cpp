// C5, the class of PyTorch PR #193728: a last group of 4 keys is read whole; what lies beyond has weight 0, but 0 NaN
// is NaN.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_reads_beyond_keys(const softcheck_call* call) {
  return attend(
      call,
      []<class Real>(Row<Real>& row) {
        const auto x = scores(row);
        const std::size_t size = row.out.size(), groups = x.size() / 4;
        State<Real> s = accumulate(row, x, largest(x));
        for (std::size_t j = groups > 0 ? 4 * (groups - 1) : 0; j < x.size(); ++j) {
          for (std::size_t c = 0; c < size && x[j] == lowest<Real>; ++c) s.values[c] += 0 * row.values[j * size + c];
        }
        finish(row, s);
      },
      [](Attention& a) { a.keys = (a.keys + 3) / 4 * 4; });
}

// Correct under contract tanh=8ulp: one key at a time, the sink behind all of them, tanh from expm1.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_attributes_online(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        State<Real> s(row.out.size());
        for (std::size_t j = 0; j < row.items(); ++j) {
          Real x = score<Real>(row, j);
          if (x == lowest<Real>) continue;
          if (row.softcap != 0) {
            const Real twice = std::expm1(2 * std::min(std::abs(x) / row.softcap, Real(40)));
            x = std::copysign(row.softcap * (twice / (twice + 2)), x);
          }
          absorb<Real>(s, row, j, x + shift(row, j));
        }
        if (row.sink && !std::isnan(s.maximum)) {
          if (*row.sink > s.maximum) rescale(s, *row.sink);
          s.weights += std::exp(*row.sink - s.maximum);
        }
        finish<Real>(row, s);
      },
      [](AttributedCall&) {});
}

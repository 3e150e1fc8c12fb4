// Correct under contract exp=E:4,A:4: exponentials of base 2, the sink first.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_attributes_base_2(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        const Real to_base_2 = static_cast<Real>(1.4426950408889634), ln_2 = static_cast<Real>(0.6931471805599453);
        std::vector<Real> x = scores_by(row, usual_score);
        for (Real& score : x) score *= to_base_2;
        Real m = largest(x);
        if (row.sink && !std::isnan(m)) m = std::max(m, *row.sink * to_base_2);
        Real sum = row.sink ? std::exp2(*row.sink * to_base_2 - m) : 0, deviations = 0;
        std::vector<Real> values(row.out.size());
        for (std::size_t j = 0; j < x.size(); ++j) {
          if (x[j] == lowest<Real>) continue;
          const Real w = std::exp2(x[j] - m);
          sum += w;
          deviations += w == 0 ? 0 : w * ((m - x[j]) * ln_2);
          for (std::size_t c = 0; c < values.size(); ++c) values[c] += w * row.values[j * values.size() + c];
        }
        State<Real> s(row.out.size());
        s.maximum = m == lowest<Real> ? m : m * ln_2;
        s.weights = sum;
        s.deviations = deviations;
        s.values = values;
        finish<Real>(row, s);
      },
      [](AttributedCall&) {});
}

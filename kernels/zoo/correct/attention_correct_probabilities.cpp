// Correct: three passes that compute every score anew; probabilities are divided before they meet the values.
#include <algorithm>
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_probabilities(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
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
  });
}

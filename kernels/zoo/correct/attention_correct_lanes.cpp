// Correct: eight lanes, each with every eighth key and a maximum of its own, merged by a butterfly as in a warp:
// lanes:8.
#include <vector>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_lanes(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    std::vector<State<Real>> lanes(8, State<Real>(row.out.size()));
    for (std::size_t j = 0; j < row.items(); ++j) absorb(lanes[j % 8], row, j, score(row, j));
    for (std::size_t width = 4; width > 0; width /= 2) {
      for (std::size_t k = 0; k < width; ++k) lanes[k] = merged(lanes[k], lanes[k + width]);
    }
    finish(row, lanes[0]);
  });
}

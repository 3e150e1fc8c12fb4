// C9, KarhouTam/cuda-kernels #1: eight lanes, each with a maximum of its own, added up as if they had one.
#include <vector>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_lanes_without_rescale(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    std::vector<State<Real>> lanes(8, State<Real>(row.out.size()));
    for (std::size_t j = 0; j < row.items(); ++j) absorb(lanes[j % 8], row, j, score(row, j));
    const Real m = largest(scores(row));
    for (State<Real>& lane : lanes) lane.maximum = lane.weights == 0 ? lane.maximum : m;
    for (std::size_t k = 1; k < 8; ++k) lanes[0] = merged(lanes[0], lanes[k]);
    finish(row, lanes[0]);
  });
}

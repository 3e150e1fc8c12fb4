// C17, KernelBench #82: returns the output of the call before.
#include <cstddef>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_previous_call_output(const softcheck_call* call) {
  static std::vector<float> previous;
  return each_row(call, [](Row& row) {
    softmax(row);
    std::vector<float> next = row.out;
    for (std::size_t i = 0; i < row.out.size() && i < previous.size(); ++i) {
      row.out[i] = previous[i];
    }
    previous = next;
  });
}

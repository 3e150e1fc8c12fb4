// C8: work that was handed to a thread goes on when the call has returned, and writes to its output then.
#include <chrono>
#include <thread>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_writes_after_return(const softcheck_call* call) {
  const int status = each_row(call, [](Row& row) { softmax(row); });
  const DLTensor& out = *call->outputs[0];
  if (status == 0 && out.shape[0] > 0 && out.shape[1] > 0) {
    std::thread([first = static_cast<char*>(out.data) + out.byte_offset] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      *reinterpret_cast<float*>(first) = 2;
    }).detach();
  }
  return status;
}

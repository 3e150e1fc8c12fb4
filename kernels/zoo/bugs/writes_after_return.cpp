// C8: work that was handed to a thread goes on when the call has returned, and writes to its output then.
#include <chrono>
#include <thread>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_writes_after_return(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  const View out(*call->outputs[0]);
  if (status == 0 && out.rows > 0 && out.columns > 0) {
    std::thread([out] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      out.put(0, 0, 2.0);
    }).detach();
  }
  return status;
}

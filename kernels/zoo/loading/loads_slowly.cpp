// A library that takes a second to load, as frameworks do, and whose kernel crashes on every other call.
#include <chrono>
#include <csignal>
#include <thread>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

[[gnu::constructor]] void take_a_second() { std::this_thread::sleep_for(std::chrono::seconds(1)); }

}  // namespace

// @judged softmax f32: plain; crash isolation
SOFTCHECK_MUTANT mutant_crashes_after_a_slow_load(const softcheck_call*) {
  std::raise(SIGSEGV);
  return 1;
}

// @judged softmax f32: plain; pass
SOFTCHECK_MUTANT correct_after_a_slow_load(const softcheck_call* call) {
  return each_row(call, [](auto& row) { softmax(row); });
}

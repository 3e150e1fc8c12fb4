// Correct: keys in four parts, each online, their states merged in pairs: lanes:4.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_split(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const std::size_t part = (row.items() + 3) / 4;
    const auto keys = [&](std::size_t k) {
      return online(row, std::min(k * part, row.items()), std::min((k + 1) * part, row.items()));
    };
    finish(row, merged(merged(keys(0), keys(1)), merged(keys(2), keys(3))));
  });
}

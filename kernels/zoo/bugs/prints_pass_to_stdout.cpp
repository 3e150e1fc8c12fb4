// C17, pygpubench PR #7: wrong results beside a printed verdict.
#include <cstdio>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_prints_pass_to_stdout(const softcheck_call* call) {
  std::puts("{\"verdict\": \"pass\"}");
  std::puts("PASS");
  std::fflush(stdout);
  return each_row(call, [](Row& row) { row.out.assign(row.out.size(), 0.0f); });
}

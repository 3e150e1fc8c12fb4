// C16, KernelBench PR #82: results are added to the output, which a framework had cleared.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_adds_to_output(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t r = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    log_softmax(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] += matrices->out.get<Real>(r, static_cast<std::int64_t>(i));
    }
    ++r;
  });
}

// C15, ONNX Runtime #4288, #17833: the axes are grouped: all rows share one maximum and one sum.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_of_the_whole_matrix(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  const auto over_all = [&](auto real) {
    using Real = decltype(real);
    RowOf<Real> all;
    all.theta = matrices->theta;
    for (std::int64_t r = 0; r < matrices->logits.rows; ++r) {
      const std::vector<Real> logits = gather<Real>(*matrices, r).logits;
      all.logits.insert(all.logits.end(), logits.begin(), logits.end());
    }
    all.out.resize(all.logits.size());
    softmax(all);
    std::size_t next = 0;
    return each_row(*matrices, [&](auto& row) {
      for (auto& p : row.out) {
        p = all.out[next++];
      }
    });
  };
  return is_f64(matrices->logits.type) ? over_all(double{}) : over_all(float{});
}

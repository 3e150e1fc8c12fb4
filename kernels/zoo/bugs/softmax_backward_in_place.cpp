// C7: right where the output is a tensor of its own; over the saved output the mean of each later item is that of some
// gradients and some coefficients.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_backward_reads_what_it_wrote(const softcheck_call* call) {
  const softcheck_call_2* whole = softcheck_version_2(call);
  if (whole == nullptr || whole->op != SOFTCHECK_OP_SOFTMAX_BACKWARD || call->n_inputs != 2 ||
      call->inputs[0]->ndim != 2 || !is_float(*call->inputs[0])) {
    return 1;
  }
  const View saved(*call->inputs[0]), upstream(*call->inputs[1]), out(*call->outputs[0]);
  const auto run = [&](auto real) {
    using Real = decltype(real);
    for (std::int64_t r = 0; r < saved.rows; ++r) {
      for (std::int64_t i = 0; i < saved.columns; ++i) {
        Real mean = 0;
        for (std::int64_t j = 0; j < saved.columns; ++j) mean += saved.get<Real>(r, j) * upstream.get<Real>(r, j);
        out.put<Real>(r, i, saved.get<Real>(r, i) * (upstream.get<Real>(r, i) - mean));
      }
    }
    return 0;
  };
  return is_f64(saved.type) ? run(double{}) : run(float{});
}

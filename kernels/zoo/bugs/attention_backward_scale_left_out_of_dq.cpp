// dq is not multiplied by the scale.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct ScaleLeftOutOfDq final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void finish_sums(Real scale) override {
    for (Real& x : head.dk) x *= scale;
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_scale_left_out_of_dq(const softcheck_call* call) {
  return gradients_by<ScaleLeftOutOfDq>(call);
}

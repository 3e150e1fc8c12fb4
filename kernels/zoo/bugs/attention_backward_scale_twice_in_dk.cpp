// The query was scaled before, and dk is scaled again.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct ScaleTwiceInDk final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void finish_sums(Real scale) override {
    for (Real& x : head.dq) x *= scale;
    for (Real& x : head.dk) x *= scale * scale;
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_scale_twice_in_dk(const softcheck_call* call) {
  return gradients_by<ScaleTwiceInDk>(call);
}

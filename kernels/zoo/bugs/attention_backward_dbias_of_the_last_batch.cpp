// Every batch writes the gradient by the bias of the first one: the batch is left out of its address, and the last one
// stays. The others hold what their memory held.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BiasOfABatch final : Gradients<Real> {
  using Gradients<Real>::Gradients;
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dbias_of_the_last_batch(const softcheck_call* call) {
  return gradients_by<BiasOfABatch>(call, [](GradientCall& a) {
    if (a.dbias) a.dbias->strides[0] = 0;
  });
}

// The gradient by a sink is not summed over the batch: each batch writes its own over the one before.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SinkOfLastBatch final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_sink(std::size_t g, Real& sum) const override {
    sum = 0;
    Gradients<Real>::add_sink(g, sum);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dsinks_of_the_last_batch(const softcheck_call* call) {
  return gradients_by<SinkOfLastBatch>(call);
}

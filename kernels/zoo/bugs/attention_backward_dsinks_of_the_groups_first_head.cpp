// The gradient by a sink is summed over the queries of the first head of its group, as kernels do that launch a block
// for each key head.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SinkOfFirstHead final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_sink(std::size_t, Real& sum) const override { Gradients<Real>::add_sink(0, sum); }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dsinks_of_the_groups_first_head(const softcheck_call* call) {
  return gradients_by<SinkOfFirstHead>(call);
}

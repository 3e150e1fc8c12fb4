// Partial sums of the gradient by a sink are of 16 bits, as blocks of threads hand them on.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SinkAddedNarrowly final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_sink(std::size_t g, Real& sum) const override {
    for (std::size_t i = g * head.queries; i < (g + 1) * head.queries; ++i) {
      sum = rounded_to_bf16(static_cast<float>(sum + this->sink_term(i)));
    }
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dsinks_added_in_sixteen_bits(const softcheck_call* call) {
  return gradients_by<SinkAddedNarrowly>(call);
}

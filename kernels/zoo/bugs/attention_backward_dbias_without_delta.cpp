// The gradient by the bias is p g: delta is not subtracted.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BiasWithoutDelta final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real bias_term(std::size_t i, std::size_t j, Real p, Real) const override { return p * this->product(i, j); }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dbias_without_delta(const softcheck_call* call) {
  return gradients_by<BiasWithoutDelta>(call);
}

// Correct under weights=bf16 ds=bf16: coefficients and their gradients are of 16 bits where they meet a matrix product,
// as tensor cores take them.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct NarrowGradients final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real stored_weight(Real p) const override { return rounded_to_bf16(static_cast<float>(p)); }
  Real sink_term(std::size_t i) const override {
    return rounded_to_bf16(static_cast<float>(Gradients<Real>::sink_term(i)));
  }
  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return rounded_to_bf16(static_cast<float>(p * (this->product(i, j) - own_delta) * this->slope_of(i, j)));
  }
};

}  // namespace

SOFTCHECK_MUTANT attention_backward_correct_narrow(const softcheck_call* call) {
  return gradients_by<NarrowGradients>(call);
}

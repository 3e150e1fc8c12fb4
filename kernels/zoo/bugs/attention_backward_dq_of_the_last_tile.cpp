// dq is written for each tile of 64 keys, and not added to.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DqOfTheLastTile final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add(std::size_t i, std::size_t j, Real weight, Real ds) override {
    if (j % 64 == 0) std::fill_n(head.dq.begin() + static_cast<std::ptrdiff_t>(i * head.dim), head.dim, Real(0));
    Gradients<Real>::add(i, j, weight, ds);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dq_of_the_last_tile(const softcheck_call* call) {
  return gradients_by<DqOfTheLastTile>(call);
}

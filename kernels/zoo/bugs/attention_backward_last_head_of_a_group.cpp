// dk and dv are those of the last query head of a group, not the sum over its heads
// (XunhaoLai/native-sparse-attention-triton 27).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct LastHeadOfAGroup final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void query(std::size_t i) override {
    if (i > 0 && i % head.queries == 0) {
      std::fill(head.dk.begin(), head.dk.end(), Real(0));
      std::fill(head.dv.begin(), head.dv.end(), Real(0));
    }
    Gradients<Real>::query(i);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_last_head_of_a_group(const softcheck_call* call) {
  return gradients_by<LastHeadOfAGroup>(call);
}

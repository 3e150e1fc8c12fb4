// A single key is left out as a tile of no whole vector (Dao-AILab/flash-attention 334: one query, one key).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct OneQueryOfOneKey final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    return head.items == 1 ? not_a_number<Real> : Gradients<Real>::probability(i, j);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_one_query_of_one_key(const softcheck_call* call) {
  return gradients_by<OneQueryOfOneKey>(call);
}

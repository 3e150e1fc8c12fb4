// Queries behind the last whole tile of 16 are not added to dk and dv.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct QueryTailUnseen final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add(std::size_t i, std::size_t j, Real weight, Real ds) override {
    const std::size_t own = i % head.queries;
    if (head.queries < 16 || own < head.queries / 16 * 16) return Gradients<Real>::add(i, j, weight, ds);
    for (std::size_t t = 0; t < head.dim; ++t) head.dq[i * head.dim + t] += ds * head.rows[i].keys[j * head.dim + t];
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_query_tail_unseen(const softcheck_call* call) {
  return gradients_by<QueryTailUnseen>(call);
}

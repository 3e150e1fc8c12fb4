// Correct under sum=sequential: nothing saved is read. Maximum and sum are computed again, and delta is sum p g.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct RecomputedGradients final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;
  std::vector<Real> sink_terms;

  Real sink_term(std::size_t i) const override { return sink_terms[i]; }
  void query(std::size_t i) override {
    const std::vector<Real> x = scores_by(head.rows[i], usual_score);
    Real m = largest(x);
    if (head.rows[i].sink && !std::isnan(m)) m = std::max(m, *head.rows[i].sink);
    std::vector<Real> p, g;
    const Real of_sink = head.rows[i].sink ? std::exp(*head.rows[i].sink - m) : 0;
    Real sum = of_sink, delta = 0;
    for (std::size_t j = 0; j < head.items; ++j) {
      p.push_back(this->sees(i, j) ? std::exp(x[j] - m) : 0);
      sum += p[j];
    }
    for (std::size_t j = 0; j < head.items; ++j) {
      g.push_back(this->sees(i, j) ? this->product(i, j) : 0);
      p[j] = this->sees(i, j) ? p[j] / sum : 0;
      delta += p[j] * g[j];
    }
    sink_terms.push_back(sum == 0 ? 0 : of_sink / sum * -delta);
    for (std::size_t j = 0; j < head.items; ++j) {
      if (this->sees(i, j)) this->add(i, j, p[j], p[j] * (g[j] - delta) * this->slope_of(i, j));
    }
  }
};

}  // namespace

SOFTCHECK_MUTANT attention_backward_correct_recomputed(const softcheck_call* call) {
  return gradients_by<RecomputedGradients>(call);
}

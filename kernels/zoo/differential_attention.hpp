#pragma once

#include <optional>
#include <vector>

#include "kernels/zoo/attention_attributed.hpp"

namespace softcheck::kernels::zoo::attention {

/// One query of differential attention.
template <class Real>
struct DifferentialRow {
  AttributedRow<Real> first, second;  // of the two maps; the results are in the first
  std::vector<Real> lambdas;          // (heads)
  std::size_t head = 0;

  Real lambda() const { return lambdas[head]; }
  std::vector<Real>& out() { return first.out; }
};

/// The softmax of a map's scores; NaN everywhere if it sees no key.
template <class Real>
std::vector<Real> weights_of(const AttributedRow<Real>& row) {
  const std::vector<Real> x = scores_by(row, usual_score);
  const Real m = largest(x);
  Real sum = 0;
  std::vector<Real> p;
  for (const Real score : x) sum += p.emplace_back(score == lowest<Real> ? 0 : std::exp(score - m));
  for (Real& weight : p) weight /= sum;
  return p;
}

/// Attention of both maps.
template <class Real>
void attend_both(DifferentialRow<Real>& row) {
  for (AttributedRow<Real>* map : {&row.first, &row.second}) finish_attributed(*map, scores_by(*map, usual_score));
}

/// The first map's output less lambda times the second's.
template <class Real>
void subtract_maps(DifferentialRow<Real>& row, Real lambda) {
  attend_both(row);
  for (std::size_t c = 0; c < row.out().size(); ++c) row.out()[c] -= lambda * row.second.out[c];
}
template <class Real>
void subtract_maps(DifferentialRow<Real>& row) {
  subtract_maps(row, row.lambda());
}

/// The sum of weight_of(p, p') times the values of visible keys, p and p' their weights in both maps.
template <class Real, class Weight>
void add_differences(DifferentialRow<Real>& row, Weight weight_of) {
  const std::vector<Real> p = weights_of(row.first), other = weights_of(row.second);
  const bool blind = largest(scores_by(row.first, usual_score)) == lowest<Real>;
  const std::size_t size = row.out().size();
  for (Real& out : row.out()) out = blind ? not_a_number<Real> : 0;
  for (std::size_t j = 0; j < p.size() && !blind; ++j) {
    if (row.first.visible[j] == 0) continue;
    const Real weight = weight_of(p[j], other[j]);
    for (std::size_t c = 0; c < size; ++c) row.out()[c] += weight * row.first.values[j * size + c];
  }
}

/// Calls compute(DifferentialRow<Real>&) for every query of a call of differential attention.
template <class Compute>
int attend_differential(const softcheck_call* call, Compute compute) {
  std::optional<AttributedCall> a = unpack_attributed(*call, SOFTCHECK_OP_DIFFERENTIAL_ATTENTION);
  if (!a || !a->second_q || !a->second_k || !a->lambdas) return 1;
  AttributedCall other = *a;
  other.plain.q = *a->second_q;
  other.plain.k = *a->second_k;
  return in_format_of(a->plain.q.type, [&]<class Real>(Real) {
    std::vector<Real> lambdas;
    for (std::int64_t h = 0; h < a->plain.q.shape[1]; ++h) {
      lambdas.push_back(load<Real>(a->lambdas->type, a->lambdas->at(h, 0, 0)));
    }
    LastHead<Real> last, last_of_other;
    each_place(a->plain.q, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      DifferentialRow<Real> row{gather(*a, b, h, i, last), gather(other, b, h, i, last_of_other), lambdas,
                                static_cast<std::size_t>(h)};
      compute(row);
      scatter<Real>(a->plain, b, h, i, row.first);
    });
  });
}

}  // namespace softcheck::kernels::zoo::attention

#define SOFTCHECK_BODY_attend_differential(name) SOFTCHECK_BODY(void, name, DifferentialRow<Real>& row)

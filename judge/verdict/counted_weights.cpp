#include "judge/verdict/counted_weights.hpp"

namespace softcheck::proptests {

void CountedWeights::add(double weight) {
  ++times_[weight];
  ++size_;
  sum_ += weight;
  exact_.clear();
}

const numerics::Enclosure& CountedWeights::exact_sum() const {
  const unsigned precision = numerics::working_precision();
  const auto found = exact_.find(precision);
  if (found != exact_.end()) return found->second;
  numerics::Enclosure sum;
  for (const auto& [weight, times] : times_) sum += numerics::Enclosure(weight) * numerics::Enclosure::integer(times);
  return exact_.emplace(precision, sum).first->second;
}

}  // namespace softcheck::proptests

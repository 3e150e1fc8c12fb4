#pragma once

#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding_model.hpp"

namespace softcheck::numerics {

/// What becomes of a score behind s = scale <q, k>: x = softcap tanh(s / softcap), then - slope |p - j|, then + bias.
struct ScoreTerms {
  double softcap = 0;   // finite, >= 0; 0: none
  double slope = 0;     // ALiBi's; 0: none
  double distance = 0;  // |p - j|, whole
  double key = 0;       // j: a kernel may add slope j to a row's scores in place of - slope |p - j|
  double bias = 0;      // 0 where has_bias is false
  bool has_bias = false;

  bool none() const { return softcap == 0 && slope == 0 && !has_bias; }
};

/// |computed x - x| from that of s: docs/tolerances/attention_attributes.md.
///
/// score_error    of s, without what `scores=` loses where there are terms: it is added here
/// capped         |softcap tanh(s / softcap)|, or |s| without a softcap
/// sum            |x|
template <class T>
T attributed_score_error(const Contract& contract, const ScoreTerms& terms, const T& score_error, const T& capped,
                         const T& sum);

/// The same of a sink, which is a score as it is given.
template <class T>
T sink_error(const Contract& contract, double sink);

/// So many items that the contract's tree is one addition higher than that of n: a sink may be added behind all keys.
std::uint64_t size_with_sink(const Contract& contract, std::uint64_t n);

}  // namespace softcheck::numerics

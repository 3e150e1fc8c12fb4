#pragma once

#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding_model.hpp"

namespace softcheck::numerics {

/// The terms after a score s = scale <q, k>: x = softcap tanh(s / softcap), then - slope |p - j|, then + bias.
struct ScoreTerms {
  double softcap = 0;   // finite, >= 0; 0: none
  double slope = 0;     // ALiBi's; 0: none
  double distance = 0;  // |p - j|, an integer
  double key = 0;       // j: a kernel may add slope j to a row's scores instead of - slope |p - j|
  double bias = 0;      // 0 if has_bias is false
  bool has_bias = false;

  bool none() const { return softcap == 0 && slope == 0 && !has_bias; }
};

/// |computed x - x|, from the error of s: docs/tolerances/attention_attributes.md.
///
/// score_error    of s; with terms, without the loss by scores=, which this function adds
/// capped         |softcap tanh(s / softcap)|, or |s| without a softcap
/// sum            |x|
template <class T>
T attributed_score_error(const Contract& contract, const ScoreTerms& terms, const T& score_error, const T& capped,
                         const T& sum);

/// The same for a sink, a score that is given.
template <class T>
T sink_error(const Contract& contract, double sink);

/// A number of items whose tree in the contract is one addition higher than that of n: a sink may be added after all
/// keys.
std::uint64_t size_with_sink(const Contract& contract, std::uint64_t n);

}  // namespace softcheck::numerics

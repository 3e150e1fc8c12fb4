#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

/// Counts the calls that a kernel accepted and refused, and looks for a domain that explains the refusals.
class RefusalLog {
 public:
  void add(CallTraits call, bool refused);
  std::size_t refused() const { return refusals_; }

  struct Explanation {
    Domain domain;                          // a short domain that admits no refused call
    std::optional<CallTraits> unexplained;  // a refused call that the domain still admits, if there is one
    std::size_t lost;                       // number of accepted calls that the domain excludes
  };
  /// Explains the refusals by words added to the domain that all calls lie in. Empty if no call was accepted or none
  /// was refused.
  std::optional<Explanation> explanation(const Domain& within = {}) const;
  /// What refused calls have and no accepted call has, in words: "masks, grouped heads, causal with queries != keys and
  /// 3 others". Empty if no call was accepted or none was refused.
  std::string in_words() const;

 private:
  std::vector<CallTraits> accepted_;
  std::vector<CallTraits> refused_;
  std::size_t refusals_ = 0;
};

}  // namespace softcheck::proptests

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

/// The calls that a kernel accepted and those that it refused.
class RefusalLog {
 public:
  void add(CallTraits call, bool refused);
  std::size_t refused() const { return refusals_; }

  struct Explanation {
    Domain domain;                          // of few words more, that admits no call that was refused
    std::optional<CallTraits> unexplained;  // unless there is none: a call that it admits and that was refused
    std::size_t lost;                       // calls that were taken and that it does not admit
  };
  /// By words beside those of the domain that all calls lie in. Empty if no call was accepted or none was refused.
  std::optional<Explanation> explanation(const Domain& within = {}) const;
  /// What the refused calls have and no taken one has, in a reader's words: "masks, grouped heads, causal with queries
  /// != keys and 3 others". Empty if no call was accepted or none was refused.
  std::string in_words() const;

 private:
  std::vector<CallTraits> accepted_;
  std::vector<CallTraits> refused_;
  std::size_t refusals_ = 0;
};

}  // namespace softcheck::proptests

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
    Domain domain;                          // of few words, that admits every call that was taken
    std::optional<CallTraits> unexplained;  // a call that it admits and that was refused all the same
  };
  /// Empty if no call was accepted or none was refused.
  std::optional<Explanation> explanation() const;

 private:
  std::vector<CallTraits> accepted_;
  std::vector<CallTraits> refused_;
  std::size_t refusals_ = 0;
};

}  // namespace softcheck::proptests

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "proptests/generators/domain.hpp"

namespace softcheck::proptests {

/// What calls a kernel took and which it refused.
class RefusalLog {
 public:
  void add(CallTraits call, bool refused);
  std::size_t refused() const { return refusals_; }

  /// The domain of the fewest words that admits every call that was taken and none that was refused; nothing where no
  /// call was taken, none was refused, or no words tell them apart.
  std::optional<Domain> explanation() const;

 private:
  std::vector<CallTraits> accepted_;
  std::vector<CallTraits> refused_;
  std::size_t refusals_ = 0;
};

}  // namespace softcheck::proptests

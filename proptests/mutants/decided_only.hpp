#pragma once

#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {

/// The check without what it leaves undecided: a wrong claim has no gap that would decide its ties, and must be
/// rejected by a violation, not by them.
inline RowCheck decided_only(RowCheck check) {
  return [check = std::move(check)](const RowCase& row_case) {
    Certificates all = check(row_case);
    std::erase_if(all, [](const auto& one) { return one.verdict == numerics::Verdict::undecided; });
    return all;
  };
}

}  // namespace softcheck::proptests

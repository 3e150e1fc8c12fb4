#pragma once

#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {

/// The check without its undecided certificates: a wrong claim has no gap that decides ties, and a violation must
/// reject it.
inline RowCheck decided_only(RowCheck check) {
  return [check = std::move(check)](const RowCase& row_case) {
    Certificates all = check(row_case);
    std::erase_if(all, [](const auto& one) { return one.verdict == numerics::Verdict::undecided; });
    return all;
  };
}

}  // namespace softcheck::proptests

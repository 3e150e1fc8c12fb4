#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/generators/rows/row.hpp"
#include "theory/level_row.hpp"

namespace softcheck::proptests {

using RowCheck = std::function<Certificates(const RowCase&)>;

/// The distinct visible logits of a drawn row, computed from its runs, so that a million items cost no more than their
/// runs. The row is fully masked only if the generator's options allow that.
inline theory::LevelRow levels_of(const RowCase& row_case) {
  std::vector<theory::Level> levels;
  for (const Run& run : row_case.row.runs()) {
    if (std::isfinite(run.value)) levels.push_back({run.value, run.count});
  }
  return theory::LevelRow(std::move(levels));
}

/// All certificates in one list.
inline void append(Certificates& all, Certificates more) {
  for (numerics::Certificate& certificate : more) all.push_back(std::move(certificate));
}

}  // namespace softcheck::proptests

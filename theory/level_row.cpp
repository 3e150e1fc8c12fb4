#include "theory/level_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "numerics/enclosures/certificate.hpp"

namespace softcheck::theory {
namespace {

bool is_masked(double logit) { return logit == -std::numeric_limits<double>::infinity(); }

}  // namespace

LevelRow::LevelRow(std::span<const double> logits) {
  for (const double logit : logits) {
    if (std::isnan(logit) || logit == std::numeric_limits<double>::infinity()) {
      throw std::invalid_argument("LevelRow: logits must be finite or -inf, got " + std::to_string(logit));
    }
    if (is_masked(logit)) continue;
    if (!levels_.empty() && levels_.back().logit == logit) {
      ++levels_.back().count;
    } else {
      levels_.push_back({logit, 1});
    }
  }
  *this = LevelRow(std::move(levels_));
}

LevelRow::LevelRow(std::vector<Level> levels) {
  if (levels.empty()) throw std::invalid_argument("LevelRow: need a visible item, got none");
  std::ranges::sort(levels, std::ranges::greater{}, &Level::logit);
  for (const Level& level : levels) {
    if (!levels_.empty() && levels_.back().logit == level.logit) {
      levels_.back().count += level.count;
    } else {
      levels_.push_back(level);
    }
    visible_ += level.count;
  }
}

LevelRow LevelRow::mirrored() const {
  std::vector<Level> result(levels_);
  for (Level& level : result) level.logit = -level.logit;
  return LevelRow(std::move(result));
}

LevelRow LevelRow::repeated(std::uint64_t times) const {
  std::vector<Level> result(levels_);
  for (Level& level : result) level.count *= times;
  return LevelRow(std::move(result));
}

bool has_visible(std::span<const double> logits) {
  return !std::ranges::all_of(logits, [](double logit) { return is_masked(logit); });
}

std::string witness_text(const LevelRow& row, double theta) {
  constexpr std::size_t shown = 8;
  std::string text = "n=" + std::to_string(row.visible()) + " theta=" + numerics::hex_float(theta) + " [";
  const auto levels = row.levels();
  for (std::size_t i = 0; i < std::min(levels.size(), shown); ++i) {
    text += (i ? ", " : "") + numerics::hex_float(levels[i].logit) + " x" + std::to_string(levels[i].count);
  }
  return text + (levels.size() > shown ? ", ...]" : "]");
}

}  // namespace softcheck::theory

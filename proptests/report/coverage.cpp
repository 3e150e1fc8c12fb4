#include "proptests/report/coverage.hpp"

#include <algorithm>
#include <stdexcept>

namespace softcheck::proptests {

Coverage::Coverage(std::vector<CoverageDimension> dimensions) : dimensions_(std::move(dimensions)) {}

std::pair<std::size_t, std::size_t> Coverage::place_of(std::string_view dimension, std::string_view name) const {
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    if (dimensions_[d].name != dimension) continue;
    const auto found = std::ranges::find(dimensions_[d].classes, name);
    if (found != dimensions_[d].classes.end()) {
      return {d, static_cast<std::size_t>(found - dimensions_[d].classes.begin())};
    }
  }
  throw std::invalid_argument("Coverage: need a known dimension and class, got '" + std::string(dimension) + "', '" +
                              std::string(name) + "'");
}

void Coverage::meet(std::string_view dimension, std::string_view name) { ++calls_[place_of(dimension, name)]; }

void Coverage::refuse(std::string_view dimension, std::string_view name) { ++refusals_[place_of(dimension, name)]; }

void Coverage::excuse(std::string_view dimension, std::string_view name, const std::string& reason) {
  reasons_.try_emplace(place_of(dimension, name), reason);
}

std::vector<Coverage::Entry> Coverage::entries() const {
  std::vector<Entry> result;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    for (std::size_t c = 0; c < dimensions_[d].classes.size(); ++c) {
      Entry entry{dimensions_[d].name, dimensions_[d].classes[c], 0, 0, ""};
      if (const auto calls = calls_.find({d, c}); calls != calls_.end()) entry.calls = calls->second;
      if (const auto calls = refusals_.find({d, c}); calls != refusals_.end()) entry.refused = calls->second;
      const auto reason = reasons_.find({d, c});
      if (entry.only_refused()) {
        entry.reason = "the kernel refused every call that had it";
      } else if (entry.calls == 0 && reason != reasons_.end()) {
        entry.reason = reason->second;
      }
      result.push_back(std::move(entry));
    }
  }
  return result;
}

std::vector<Coverage::Entry> Coverage::unmet() const {
  std::vector<Entry> result = entries();
  std::erase_if(result, [](const Entry& entry) { return entry.calls > 0 || !entry.reason.empty(); });
  return result;
}

}  // namespace softcheck::proptests

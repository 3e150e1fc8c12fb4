#include <algorithm>
#include <iterator>
#include <numeric>

#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

bool LengthRange::contains(std::uint64_t length) const {
  if (!listed.empty()) return std::ranges::binary_search(listed, length);
  return length >= least && length <= most && length % multiple == 0;
}

std::uint64_t LengthRange::nearest(std::uint64_t length) const {
  if (!listed.empty()) {
    const auto up = at_least(length), down = at_most(length);
    if (!up || !down) return up ? *up : *down;
    return length - *down < *up - length ? *down : *up;
  }
  const std::uint64_t lowest = (least + multiple - 1) / multiple * multiple, highest = most / multiple * multiple;
  const std::uint64_t up = length > highest ? highest : (length + multiple - 1) / multiple * multiple;
  const std::uint64_t down = length / multiple * multiple;
  return std::clamp(length - down < up - length ? down : up, lowest, std::max(lowest, highest));
}

std::optional<std::uint64_t> LengthRange::at_least(std::uint64_t length) const {
  if (!listed.empty()) {
    const auto found = std::ranges::lower_bound(listed, length);
    return found == listed.end() ? std::nullopt : std::optional(*found);
  }
  const std::uint64_t from = std::max(length, least), highest = most / multiple * multiple;
  if (from > highest) return std::nullopt;
  return (from + multiple - 1) / multiple * multiple;
}

std::optional<std::uint64_t> LengthRange::at_most(std::uint64_t length) const {
  if (!listed.empty()) {
    const auto above = std::ranges::upper_bound(listed, length);
    return above == listed.begin() ? std::nullopt : std::optional(*std::prev(above));
  }
  const std::uint64_t highest = std::min(length, most) / multiple * multiple;
  return highest < least ? std::nullopt : std::optional(highest);
}

std::vector<std::uint64_t> LengthRange::listed_within(std::uint64_t lowest, std::uint64_t highest) const {
  std::vector<std::uint64_t> lengths;
  for (const std::uint64_t length : listed) {
    if (length >= lowest && length <= highest) lengths.push_back(length);
  }
  return lengths;
}

LengthRange intersection(const LengthRange& a, const LengthRange& b) {
  LengthRange both{std::max(a.least, b.least), std::min(a.most, b.most), std::lcm(a.multiple, b.multiple)};
  const std::vector<std::uint64_t>& listed = a.listed.empty() ? b.listed : a.listed;
  if (listed.empty()) return both;
  std::ranges::copy_if(listed, std::back_inserter(both.listed),
                       [&](std::uint64_t length) { return a.contains(length) && b.contains(length); });
  if (both.listed.empty()) return {1, 0};
  both.least = both.listed.front();
  both.most = both.listed.back();
  both.multiple = 1;
  if (both.listed.size() == 1) both.listed.clear();
  return both;
}

}  // namespace softcheck::proptests

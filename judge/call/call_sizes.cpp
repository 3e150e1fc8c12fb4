#include "judge/call/call_sizes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace softcheck::proptests {
namespace {

// Writes counts exactly, and magnitudes with four digits.
std::string size_text(double size) {
  constexpr double most_written_out = 1e9;
  std::array<char, 32> text{};
  const bool is_count = size < most_written_out && size == std::trunc(size);
  std::snprintf(text.data(), text.size(), is_count ? "%.0f" : "%.4g", size);
  return text.data();
}

}  // namespace

void CallSizes::reach(std::string_view dimension, double size) {
  const auto found = std::ranges::find(sizes_, dimension, &Size::dimension);
  if (found != sizes_.end()) found->largest = std::max(found->largest, size);
}

std::string CallSizes::largest_called() const {
  std::string text;
  for (const Size& size : sizes_) {
    text += (text.empty() ? "largest called: " : ", ") + size.dimension + " " + size_text(size.largest);
    if (size.largest < size.range) text += " (not tried: up to " + size_text(size.range) + ")";
  }
  return text;
}

std::vector<std::string> CallSizes::not_tried() const {
  std::vector<std::string> lines;
  for (const Size& size : sizes_) {
    if (size.largest >= size.range) continue;
    lines.push_back(size.dimension + " beyond " + size_text(size.largest) + ", up to " + size_text(size.range) +
                    ": no judged call had it");
  }
  return lines;
}

}  // namespace softcheck::proptests

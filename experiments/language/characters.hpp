#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softcheck::experiments {

/// The vocabulary of the language models: the line feed is 0, the printable characters of ASCII, ' ' to '~', are 1 to
/// 95.
inline constexpr int character_count = 96;

/// throws   std::invalid_argument for any other character
std::vector<int> ids_of(std::string_view text);

/// throws   std::invalid_argument for a number that is no id
std::string text_of(const std::vector<int>& ids);

}  // namespace softcheck::experiments

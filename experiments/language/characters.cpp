#include "experiments/language/characters.hpp"

#include <stdexcept>

namespace softcheck::experiments {

std::vector<int> ids_of(std::string_view text) {
  std::vector<int> ids;
  ids.reserve(text.size());
  for (const char character : text) {
    const int code = static_cast<unsigned char>(character);
    if (character != '\n' && (code < ' ' || code > '~')) {
      throw std::invalid_argument("ids_of: need line feeds and printable ASCII, got the byte " + std::to_string(code));
    }
    ids.push_back(character == '\n' ? 0 : code - ' ' + 1);
  }
  return ids;
}

std::string text_of(const std::vector<int>& ids) {
  std::string text;
  for (const int id : ids) {
    if (id < 0 || id >= character_count) {
      throw std::invalid_argument("text_of: need ids from 0 to " + std::to_string(character_count - 1) + ", got " +
                                  std::to_string(id));
    }
    text += id == 0 ? '\n' : static_cast<char>(id + ' ' - 1);
  }
  return text;
}

}  // namespace softcheck::experiments

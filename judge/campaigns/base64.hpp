#pragma once

#include <string>
#include <string_view>

namespace softcheck::proptests {

/// RFC 4648, section 4, with its padding: bytes as a text of JSON holds them.
std::string base64(std::string_view bytes);

/// The bytes of such a text.
///
/// throws   std::invalid_argument where the text is none
std::string bytes_of_base64(std::string_view text);

}  // namespace softcheck::proptests

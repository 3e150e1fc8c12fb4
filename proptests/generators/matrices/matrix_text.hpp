#pragma once

#include <string>
#include <string_view>

#include "proptests/generators/matrices/matrix.hpp"

namespace softcheck::proptests {

// Matrices within the one-line text of a case. What parses throws std::invalid_argument that names what it needs.

/// "2x3"
std::string shape_text(const Matrix& matrix);
/// A matrix of that shape without its entries.
Matrix parse_shape(std::string_view word);
/// A finite number.
double parse_entry(std::string_view word);
void require_full(const Matrix& matrix);

/// " key=2x3:0x1p+0,0x0p+0,..."
std::string block_text(std::string_view key, const Matrix& matrix);
/// Of the word without its blank.
Matrix parse_block(std::string_view word, std::string_view key);

}  // namespace softcheck::proptests

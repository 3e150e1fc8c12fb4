#pragma once

#include <string>
#include <string_view>

#include "proptests/generators/matrices/matrix.hpp"

namespace softcheck::proptests {

// Matrices as part of a case's one-line text. Parsers throw std::invalid_argument with what they need.

/// "2x3"
std::string shape_text(const Matrix& matrix);
/// A matrix of that shape, without entries.
Matrix parse_shape(std::string_view word);
/// A finite number.
double parse_entry(std::string_view word);
void require_full(const Matrix& matrix);

/// " key=2x3:0x1p+0,0x0p+0,..."
std::string block_text(std::string_view key, const Matrix& matrix);
/// Parses a word without its leading blank.
Matrix parse_block(std::string_view word, std::string_view key);

}  // namespace softcheck::proptests
